"""Python reward host: `python reward_host.py`. It starts empty, loads one reward file and then scores batches. Requests
arrive on file descriptor 3 and replies are sent on 4, because standard output belongs to the rewards.
"""

import os
import sys

# Keep this line compatible with all versions of Python 2 and 3, so an outdated interpreter can report its version.
if sys.version_info < (3, 10):
    sys.stderr.write("Python %d.%d is too old.\n" % sys.version_info[:2])
    sys.exit(86)

if __name__ == "__main__":
    # This program's folder is on the path only for its own imports. Rewards must not import from it.
    own = os.path.dirname(os.path.abspath(__file__))
    sys.path = [path for path in sys.path if path != own]
    sys.path.insert(0, own)
    # Sandboxes do not keep bytecode, so each start compiles what is imported here.
    if sys.argv[1:2] == ["--once"]:
        from _reward_host import once as host
    elif sys.argv[1:2] == ["--episode"]:
        from _reward_host import episode_once as host
    else:
        from _reward_host import server as host

    sys.path.remove(own)
    # A bytecode cache is validated by the source's modification time and size, which can be the same after two quick
    # edits.
    sys.dont_write_bytecode = True
    host.main(*sys.argv[2:])
