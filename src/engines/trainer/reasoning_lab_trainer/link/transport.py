"""Opens a Unix domain socket or a Windows named pipe."""

from __future__ import annotations

import socket
import sys
from typing import BinaryIO

from ..failure import Failure
from .framing import ByteStream


class SocketStream:
    """A Unix domain socket."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(path)

    def read(self, most: int) -> bytes:
        try:
            return self._socket.recv(most)
        except ConnectionError:
            return b""

    def write(self, data: bytes) -> None:
        self._socket.sendall(data)

    def close(self) -> None:
        self._socket.close()


class TcpStream:
    """A connection between processes of the run."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection

    def read(self, most: int) -> bytes:
        try:
            return self._socket.recv(most)
        except OSError:
            # The connection was reset, or closed by another thread.
            return b""

    def write(self, data: bytes) -> None:
        self._socket.sendall(data)

    def close(self) -> None:
        self._socket.close()


class PipeStream:
    """A Windows named pipe, opened like a file."""

    def __init__(self, path: str) -> None:
        self._file: BinaryIO = open(path, "r+b", buffering=0)  # noqa: SIM115

    def read(self, most: int) -> bytes:
        try:
            return self._file.read(most) or b""
        except OSError:
            return b""

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) or 0 :]

    def close(self) -> None:
        self._file.close()


def connect(path: str) -> ByteStream:
    """Connects to the driver through its socket or, on Windows, its named pipe. Raises Failure `unavailable`."""
    try:
        return PipeStream(path) if sys.platform == "win32" else SocketStream(path)
    except OSError as error:
        raise Failure("unavailable", f"Cannot connect to the driver at {path}: {error}.") from error
