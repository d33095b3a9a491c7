"""Sends requests to the driver, one at a time."""

from __future__ import annotations

from threading import Lock
from typing import Any

from ..failure import Failure, reasons
from .framing import ByteStream, MessageReader, encode

GONE = "The connection to the driver was lost."


class Link:
    """The trainer's connection to the driver. `call` returns when the driver has completed the request."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._reader = MessageReader(stream)
        self._last = 0
        self._writing = Lock()

    def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Returns the driver's result. Raises the Failure in its reply, or `unavailable` if the connection was lost."""
        self._last += 1
        self._write({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        while True:
            answer = self._reader.read()
            if answer is None:
                raise Failure("unavailable", GONE)
            if answer.get("id") != self._last or "method" in answer:
                # Ignore notifications and unexpected replies.
                continue
            if answer.get("error") is not None:
                raise failure_of(answer["error"], method)
            result = answer.get("result")
            return result if isinstance(result, dict) else {}

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
