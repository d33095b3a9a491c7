"""Lets every training process send requests to the driver at any time, through the process that has the link."""

from __future__ import annotations

import hmac
import os
import secrets
import socket
from contextlib import suppress
from threading import Thread
from time import monotonic
from typing import Any

from ..failure import Failure
from .client import GONE, Link
from .framing import MessageReader, encode
from .transport import TcpStream

JOIN_SECONDS = 60.0
"""How long a process may take to present the token, in seconds."""
MOST_STRANGERS = 64
"""Maximum number of open connections that have not presented the token yet. Another connection closes the oldest
one, because processes that belong to the run present the token immediately."""

Address = tuple[str, int, str]
"""Host, port and token of a forwarder."""


class Forwarder:
    """Forwards requests from the run's other processes, which can be on other machines, to the driver. Adds the
    process's rank to each request.
    """

    def __init__(self, link: Link, methods: frozenset[str]) -> None:
        """
        Raises Failure `unavailable` if no port can be opened.

        :param methods: request methods to forward
        """
        self._link = link
        self._methods = methods
        self._token = secrets.token_hex(32)
        # The processes have already used this address to find each other.
        host = os.environ.get("MASTER_ADDR", "127.0.0.1")
        try:
            family = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][0]
            self._listener = socket.create_server((host, 0), family=family)
        except OSError as error:
            raise Failure(
                "unavailable", f"Cannot listen on {host} (MASTER_ADDR) for the other processes: {error}."
            ) from error
        self.address: Address = (host, self._listener.getsockname()[1], self._token)
        # Oldest first.
        self._strangers: dict[socket.socket, None] = {}
        self._processes: set[socket.socket] = set()
        Thread(target=self._accept, daemon=True, name="Forwarder").start()

    def close(self) -> None:
        for one in (self._listener, *tuple(self._strangers), *tuple(self._processes)):
            _end(one)

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._listener.accept()
            except ConnectionAbortedError:
                continue
            except OSError:
                # Close the listener so that later connections fail instead of waiting for an answer.
                self._listener.close()
                return
            strangers = tuple(self._strangers)
            for oldest in strangers[: len(strangers) + 1 - MOST_STRANGERS]:
                _end(oldest)
            self._strangers[accepted] = None
            Thread(target=self._serve, args=[accepted], daemon=True, name="Forwarder").start()

    def _serve(self, accepted: socket.socket) -> None:
        stream = TcpStream(accepted)
        try:
            rank = self._joined(accepted)
            if rank is not None:
                self._processes.add(accepted)
                self._strangers.pop(accepted, None)
            reader = MessageReader(stream)
            while rank is not None and (message := reader.read()) is not None:
                answer = self._answer(rank, message)
                stream.write(encode({"jsonrpc": "2.0", "id": message.get("id"), **answer}))
        except (OSError, Failure, ValueError):
            # The process has exited, or does not belong to the run.
            pass
        finally:
            self._strangers.pop(accepted, None)
            self._processes.discard(accepted)
            stream.close()

    def _joined(self, accepted: socket.socket) -> int | None:
        """Returns the process's rank, or None if it does not know the token. Raises OSError after a timeout."""
        deadline = monotonic() + JOIN_SECONDS
        given = b""
        while len(given) < len(hello(self._token, 0)):
            # `settimeout` does not treat zero and negative values as timeouts.
            accepted.settimeout(max(deadline - monotonic(), 0.001))
            part = accepted.recv(len(hello(self._token, 0)) - len(given))
            if not part:
                return None
            given += part
        accepted.settimeout(None)
        token = self._token.encode()
        return int(given[len(token) :]) if hmac.compare_digest(given[: len(token)], token) else None

    def _answer(self, rank: int, message: dict[str, Any]) -> dict[str, Any]:
        method, params = message.get("method"), message.get("params")
        try:
            if not isinstance(method, str) or method not in self._methods or not isinstance(params, dict):
                raise Failure("unsupported", f"Processes cannot send {method} to the driver.")
            return {"result": self._link.call(str(method), {**params, "process": rank})}
        except Failure as failure:
            return {"error": {"code": -32000, "message": failure.message, "data": failure.data()}}


def _end(one: socket.socket) -> None:
    # Closing alone does not end a pending accept or recv.
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()


def hello(token: str, rank: int) -> bytes:
    """Returns the first message that a process sends. Its length is the same for all processes."""
    return f"{token}{rank:08d}".encode()


def forwarded_link(address: Address, rank: int) -> Link:
    """Returns a link to the driver through the process that runs the forwarder. Raises Failure `unavailable`."""
    host, port, token = address
    try:
        connection = socket.create_connection((host, port), timeout=JOIN_SECONDS)
        connection.settimeout(None)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(hello(token, rank))
    except OSError as error:
        raise Failure("unavailable", f"{GONE} Process {rank} cannot connect to {host}:{port}: {error}.") from error
    return Link(TcpStream(connection))
