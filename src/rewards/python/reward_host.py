"""The Python reward host: `python reward_host.py`. It is started empty, loads one reward file and scores batches. It is
asked over file descriptors of its own: 3 (requests) and 4 (replies); standard output belongs to the rewards."""

import os
import sys

# Kept so that any Python 2 or 3 gets as far as this and can say what it is.
if sys.version_info < (3, 10):
    sys.stderr.write("Python %d.%d is too old.\n" % sys.version_info[:2])
    sys.exit(86)

if __name__ == "__main__":
    # Where this program lies is on the path for its own import alone: what the rewards import is theirs.
    own = os.path.dirname(os.path.abspath(__file__))
    sys.path = [path for path in sys.path if path != own]
    sys.path.insert(0, own)
    from _reward_host import once, server

    sys.path.remove(own)
    # A cache file is trusted by the time and size of its source, which two quick edits may share.
    sys.dont_write_bytecode = True
    if sys.argv[1:2] == ["--once"]:
        once.main(sys.argv[2], sys.argv[3])
    else:
        server.main()
