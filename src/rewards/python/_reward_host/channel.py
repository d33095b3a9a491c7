"""Exchanges JSON-RPC messages with Content-Length framing over a pair of file descriptors."""

import json
import os
import threading

# Keep the originals, because user code can replace them.
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
_decode = json.JSONDecoder().decode
_read = os.read
_write = os.write

# Higher than any descriptor that open() returns to user code or that user code is likely to guess.
_LOWEST = 200


class Channel:
    """Only one thread may read, but any thread may write."""

    def __init__(self, requests, replies):
        self._requests = _private(requests)
        self._replies = _private(replies)
        self._lock = threading.Lock()
        self._buffer = bytearray()

    def close(self):
        """Closes the channel in a process forked by user code. The forked process must not send messages on behalf of
        the original one.
        """
        for fd in (self._requests, self._replies):
            try:
                os.close(fd)
            except OSError:
                pass

    def read(self):
        """Returns the next message, or None if the client has disconnected."""
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
        # Use ASCII only: a lone surrogate in an error message cannot be encoded as UTF-8.
        body = _encode(message).encode("ascii")
        data = memoryview(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        with self._lock:
            while data:
                data = data[_write(self._replies, data) :]


def _private(fd):
    """Duplicates the descriptor to a number that is hard to guess and is not inherited by programs that user code
    starts.
    """
    try:
        import fcntl

        copy = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _LOWEST)
    except ImportError:  # Windows
        import msvcrt

        copy = os.dup(fd)
        msvcrt.setmode(copy, os.O_BINARY)
    os.close(fd)
    return copy
