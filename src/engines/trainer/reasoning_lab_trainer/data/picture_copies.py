"""Small copies of pictures that a run keeps for displaying its rollouts. Each copy is re-encoded here, so only the
original's pixels end up in the run folder.
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

SIDE = 1024
"""Longest side of a copy, in pixels."""

LOSSLESS = 256 * 256
"""Maximum number of pixels in a PNG copy. Larger copies are JPEG files."""


class PictureCopies:
    """Copies that the driver has not received yet."""

    def __init__(self) -> None:
        self._sent: set[str] = set()

    def of(self, pictures: Sequence[Image]) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
        """Returns a reference for each picture (the copy's file name, and the original's size in pixels), and the
        files that have not been sent before. Rows of a group share one picture object.
        """
        references: dict[int, dict[str, Any]] = {}
        files: list[dict[str, str]] = []
        for picture in pictures:
            if id(picture) in references:
                continue
            content, kind = encoded_copy(picture)
            name = f"{hashlib.sha256(content).hexdigest()}.{kind}"
            references[id(picture)] = {"file": name, "width": picture.width, "height": picture.height}
            if name not in self._sent:
                self._sent.add(name)
                files.append({"file": name, "content": base64.b64encode(content).decode()})
        return [references[id(picture)] for picture in pictures], files


def encoded_copy(picture: Image) -> tuple[bytes, str]:
    """Encodes a copy of a picture. Returns its bytes and its file extension."""
    small = picture.copy()
    small.thumbnail((SIDE, SIDE))
    lossless = small.width * small.height <= LOSSLESS
    buffer = io.BytesIO()
    if lossless:
        small.save(buffer, "PNG")
    else:
        small.save(buffer, "JPEG", quality=85)
    return buffer.getvalue(), "png" if lossless else "jpg"
