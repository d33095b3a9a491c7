"""Reads and writes JSON-RPC messages with Content-Length framing over a byte stream."""

from __future__ import annotations

import json
import math
from typing import Any, Protocol

from ..failure import Failure

HEADER_BYTES = 8192
"""Maximum header size in bytes. A peer that sends more is using a different protocol."""

MESSAGE_BYTES = 1 << 31
"""Maximum message size in bytes. A generation batch with tokens is a few megabytes, so anything larger indicates a
faulty peer.
"""

CHUNK_BYTES = 1 << 20


class ByteStream(Protocol):
    """Common interface for sockets and named pipes."""

    def read(self, most: int) -> bytes:
        """Reads between one and `most` bytes. Returns an empty result if the peer has disconnected."""
        ...

    def write(self, data: bytes) -> None:
        """Writes all of `data`."""
        ...

    def close(self) -> None: ...


class Written(str):
    """A request parameter that is already serialized. This allows large values to be serialized in parallel with
    training.
    """


def encode(message: dict[str, Any]) -> bytes:
    """Encodes a message including its header."""
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
        # The text contains a lone surrogate, which is valid in JSON but not in UTF-8.
        body = json.dumps(json.loads(text), separators=(",", ":")).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def as_json(value: Any) -> str:
    """Serializes a value. Non-finite numbers become null because JSON cannot represent them."""
    try:
        return written(value)
    except ValueError:
        return written(finite(value))


def written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def finite(value: Any) -> Any:
    """Returns a copy of the value with None in place of non-finite numbers."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: finite(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(part) for part in value]
    return value


class MessageReader:
    """Reads messages from a stream, regardless of how the bytes are split."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._buffer = bytearray()

    def read(self) -> dict[str, Any] | None:
        """Returns the next message, or None if the peer has disconnected. Raises Failure `corrupt`."""
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
            raise Failure("corrupt", f"The driver sent a message that is not valid JSON: {error}.") from error
        if not isinstance(message, dict):
            raise Failure("corrupt", "The driver sent JSON that is not a valid message.")
        return message

    def _fill(self) -> bool:
        data = self._stream.read(CHUNK_BYTES)
        self._buffer += data
        return bool(data)


def content_length(header: bytes) -> int:
    """Returns the body size declared in a header. Raises Failure `corrupt`."""
    for line in header.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            length = int(value)
            if length <= MESSAGE_BYTES:
                return length
    raise Failure("corrupt", "The driver sent a message without a Content-Length.")
