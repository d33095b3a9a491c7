"""JSON-RPC messages with Content-Length framing over a pair of file descriptors."""

import json
import os
import threading

# As they are now: user code may put others in their place.
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
_decode = json.JSONDecoder().decode
_read = os.read
_write = os.write

# Above what user code gets from open() or guesses.
_LOWEST = 200


class Channel:
    """One thread reads; any thread writes."""

    def __init__(self, requests, replies):
        self._requests = _private(requests)
        self._replies = _private(replies)
        self._lock = threading.Lock()
        self._buffer = bytearray()

    def close(self):
        """Of a process that was forked by user code: it is not to speak for this one."""
        for fd in (self._requests, self._replies):
            try:
                os.close(fd)
            except OSError:
                pass

    def read(self):
        """The next message; None when the other side is gone."""
        while True:
            end = self._buffer.find(b"\r\n\r\n")
            if end >= 0:
                break
            if not self._fill(65536):
                return None
        length = 0
        for line in bytes(self._buffer[:end]).split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length":
                length = int(value)
        begin = end + 4
        while len(self._buffer) < begin + length:
            if not self._fill(min(1 << 20, begin + length - len(self._buffer))):
                return None
        body = bytes(self._buffer[begin : begin + length])
        del self._buffer[: begin + length]
        return _decode(body.decode("utf-8"))

    def _fill(self, size):
        try:
            chunk = _read(self._requests, max(size, 65536))
        except OSError:
            return False
        self._buffer += chunk
        return len(chunk) > 0

    def reply(self, message_id, result):
        self._write({"jsonrpc": "2.0", "id": message_id, "result": result})

    def fail(self, message_id, code, message, data=None):
        error = {"code": code, "message": message}
        if data is not None:
            error["data"] = data
        self._write({"jsonrpc": "2.0", "id": message_id, "error": error})

    def _write(self, message):
        # ASCII alone: a lone surrogate in a message of the author's has no UTF-8.
        body = _encode(message).encode("ascii")
        data = memoryview(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        with self._lock:
            while data:
                data = data[_write(self._replies, data) :]


def _private(fd):
    """The same end under a number that nobody guesses, and that no program which user code starts gets."""
    try:
        import fcntl

        copy = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _LOWEST)
    except ImportError:  # Windows
        import msvcrt

        copy = os.dup(fd)
        msvcrt.setmode(copy, os.O_BINARY)
    os.close(fd)
    return copy
