"""Sends requests to the driver."""

from __future__ import annotations

from threading import Condition, Lock
from typing import Any

from ..failure import Failure, reasons
from .framing import ByteStream, MessageReader, encode

GONE = "The connection to the driver was lost."


class Link:
    """The trainer's connection to the driver. `call` returns once the driver has completed the request. Several threads
    can each have one request pending. The thread that is reading stores the replies for the others.
    """

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._reader = MessageReader(stream)
        self._last = 0
        self._writing = Lock()
        self._state = Condition()
        self._reading = False
        self._replies: dict[int, dict[str, Any] | None] = {}
        """Pending requests, and replies that their threads have not picked up yet."""
        self._broken: Failure | None = None

    def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Returns the driver's result. Raises the Failure in its reply, or `unavailable` if the connection was lost."""
        with self._state:
            self._last += 1
            number = self._last
            self._replies[number] = None
        try:
            self._write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            answer = self._reply(number)
        finally:
            with self._state:
                del self._replies[number]
        if answer.get("error") is not None:
            raise failure_of(answer["error"], method)
        result = answer.get("result")
        return result if isinstance(result, dict) else {}

    def _reply(self, number: int) -> dict[str, Any]:
        while True:
            with self._state:
                while self._reading and self._replies[number] is None and self._broken is None:
                    self._state.wait()
                reply = self._replies[number]
                if reply is not None:
                    return reply
                if self._broken is not None:
                    raise self._broken
                self._reading = True
            self._read()

    def _read(self) -> None:
        """Reads one message and wakes the waiting threads."""
        message: dict[str, Any] | None = None
        broken: Failure | None = None
        try:
            message = self._reader.read()
            if message is None:
                broken = Failure("unavailable", GONE)
        except Failure as failure:
            broken = failure
        finally:
            with self._state:
                self._reading = False
                self._broken = broken
                number = None if message is None or "method" in message else message.get("id")
                # Ignore notifications and unexpected replies.
                if isinstance(number, int) and number in self._replies:
                    self._replies[number] = message
                self._state.notify_all()

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Sends a notification from any thread. Raises Failure `unavailable` if the connection was lost."""
        self._write({"jsonrpc": "2.0", "method": method, "params": params})

    def _write(self, message: dict[str, Any]) -> None:
        data = encode(message)
        try:
            with self._writing:
                self._stream.write(data)
        except OSError as error:
            raise Failure("unavailable", GONE) from error

    def close(self) -> None:
        self._stream.close()


def failure_of(error: Any, method: str) -> Failure:
    """Converts the `error` of a JSON-RPC reply to a Failure."""
    error = error if isinstance(error, dict) else {}
    data = error.get("data")
    data = data if isinstance(data, dict) else {}
    reason = data.get("reason")
    message = data.get("message") or error.get("message") or f"The driver rejected {method}."
    action = data.get("action")
    return Failure(
        reason if reason in reasons else "internal", str(message), action if isinstance(action, str) else None
    )
