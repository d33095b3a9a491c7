"""Where a text ends because a stop text came."""

from __future__ import annotations

from typing import NamedTuple


class Stop(NamedTuple):
    at: int
    text: str


def first_stop(text: str, stop: list[str], start: int = 0) -> Stop | None:
    """The stop text that comes first from `start` on; of two at one place the longer."""
    found = [Stop(place, candidate) for candidate in stop if (place := text.find(candidate, start)) >= 0]
    return min(found, key=lambda one: (one.at, -len(one.text)), default=None)


def tokens_that(pieces: list[str], characters: int) -> int:
    """How many tokens, by their texts, it takes to reach a length of text."""
    seen = 0
    for count, piece in enumerate(pieces):
        if seen >= characters:
            return count
        seen += len(piece)
    return len(pieces)
