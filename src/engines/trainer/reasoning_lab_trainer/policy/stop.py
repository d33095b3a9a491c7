"""Finds where a stop text ends a text."""

from __future__ import annotations

from typing import NamedTuple


class Stop(NamedTuple):
    at: int
    text: str


def first_stop(text: str, stop: list[str], start: int = 0) -> Stop | None:
    """The earliest stop text from `start` on; the longest one if several match there."""
    found = [Stop(place, candidate) for candidate in stop if (place := text.find(candidate, start)) >= 0]
    return min(found, key=lambda one: (one.at, -len(one.text)), default=None)


def tokens_that(pieces: list[str], characters: int) -> int:
    """Number of tokens, by their texts, that cover a text length."""
    seen = 0
    for count, piece in enumerate(pieces):
        if seen >= characters:
            return count
        seen += len(piece)
    return len(pieces)
