"""JSON-RPC messages with Content-Length framing over a stream of bytes."""

from __future__ import annotations

import json
import math
from typing import Any, Protocol

from ..failure import Failure

HEADER_BYTES = 8192
"""Longest header that is read; a peer that sends more speaks something else."""

MESSAGE_BYTES = 1 << 31
"""Longest message: a generation batch with its tokens is some megabytes, so this is a peer gone wrong."""

CHUNK_BYTES = 1 << 20


class ByteStream(Protocol):
    """What a socket and a named pipe have in common."""

    def read(self, most: int) -> bytes:
        """Up to `most` bytes, at least one; none where the peer is gone."""
        ...

    def write(self, data: bytes) -> None:
        """All of `data`."""
        ...

    def close(self) -> None: ...


class Written(str):
    """A parameter of a request that is JSON already: what is large is written beside the training."""


def encode(message: dict[str, Any]) -> bytes:
    """A message with its header."""
    params = message.get("params") or {}
    ready = {name: value for name, value in params.items() if isinstance(value, Written)}
    if ready:
        rest = {name: value for name, value in params.items() if name not in ready}
        parts = [as_json(rest)[1:-1], *(f"{as_json(name)}:{value}" for name, value in ready.items())]
        head = as_json({name: value for name, value in message.items() if name != "params"})
        text = f'{head[:-1]},"params":{{{",".join(part for part in parts if part)}}}}}'
    else:
        text = as_json(message)
    try:
        body = text.encode()
    except UnicodeEncodeError:
        # A lone half of a surrogate pair, as JSON may hold one but UTF-8 may not.
        body = json.dumps(json.loads(text), separators=(",", ":")).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def as_json(value: Any) -> str:
    """The text of a value. Numbers that are not finite become null: JSON has no word for them."""
    try:
        return written(value)
    except ValueError:
        return written(finite(value))


def written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def finite(value: Any) -> Any:
    """The same with None in the place of numbers that are not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: finite(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(part) for part in value]
    return value


class MessageReader:
    """Takes messages off a stream, however their bytes arrive."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._buffer = bytearray()

    def read(self) -> dict[str, Any] | None:
        """The next message; None where the peer is gone. Raises Failure `corrupt`."""
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > HEADER_BYTES:
                raise Failure("corrupt", "The driver sent an invalid message.")
            if not self._fill():
                return None
        length = content_length(bytes(self._buffer[:end]))
        start = end + 4
        while len(self._buffer) < start + length:
            if not self._fill():
                return None
        body = bytes(self._buffer[start : start + length])
        del self._buffer[: start + length]
        try:
            message = json.loads(body)
        except ValueError as error:
            raise Failure("corrupt", f"The driver sent a message that is not JSON: {error}.") from error
        if not isinstance(message, dict):
            raise Failure("corrupt", "The driver sent JSON that is not a message.")
        return message

    def _fill(self) -> bool:
        data = self._stream.read(CHUNK_BYTES)
        self._buffer += data
        return bool(data)


def content_length(header: bytes) -> int:
    """Bytes of the body that a header announces. Raises Failure `corrupt`."""
    for line in header.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            length = int(value)
            if length <= MESSAGE_BYTES:
                return length
    raise Failure("corrupt", "The driver sent a message without a length.")
