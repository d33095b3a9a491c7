"""Captures the output of user code, limits its size, and writes it to the standard output descriptors that the parent
reads.
"""

import io
import os
import sys

# Maximum number of bytes that a batch can print. Further output is counted and dropped, so printing costs very little.
PRINT_LIMIT = 256 * 1024

# Keep the original, because user code can replace it.
_write = os.write


class Capture:
    def __init__(self):
        self._printed = 0
        self._dropped = 0

    def install(self):
        """Starts enforcing the print limit. Output written with os.write bypasses it and goes to the parent, which has
        its own limit.
        """
        sys.stdout = sys.__stdout__ = self._stream(1)
        sys.stderr = sys.__stderr__ = self._stream(2)

    def _stream(self, fd):
        return io.TextIOWrapper(
            io.BufferedWriter(_Bounded(self, fd), 8192), encoding="utf-8", errors="backslashreplace", line_buffering=True
        )

    def write(self, fd, data):
        size = len(data)
        if self._printed + size <= PRINT_LIMIT:
            self._printed += size
            return _write(fd, data)
        self._dropped += size
        return size

    def next(self):
        """Starts a new batch with a fresh limit. Returns messages about the previous batch."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:  # User code may have closed or replaced the stream.
                pass
        dropped, self._dropped, self._printed = self._dropped, 0, 0
        return [f"({dropped:,} more bytes were printed and dropped)"] if dropped else []


class _Bounded(io.RawIOBase):
    def __init__(self, capture, fd):
        self._capture = capture
        self._fd = fd

    def writable(self):
        return True

    def fileno(self):
        return self._fd

    def write(self, data):
        return self._capture.write(self._fd, data)
