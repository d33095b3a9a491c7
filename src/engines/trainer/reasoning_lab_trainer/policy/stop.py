"""Finds the position where a stop string ends a completion."""

from __future__ import annotations

from typing import NamedTuple


class Stop(NamedTuple):
    at: int
    text: str


def first_stop(text: str, stop: list[str], start: int = 0) -> Stop | None:
    """Returns the earliest stop string at or after `start`, or the longest one if several match there."""
    found = [Stop(place, candidate) for candidate in stop if (place := text.find(candidate, start)) >= 0]
    return min(found, key=lambda one: (one.at, -len(one.text)), default=None)


def tokens_that(pieces: list[str], characters: int) -> int:
    """Returns the number of tokens needed to cover a text length, based on the text of each token."""
    seen = 0
    for count, piece in enumerate(pieces):
        if seen >= characters:
            return count
        seen += len(piece)
    return len(pieces)
