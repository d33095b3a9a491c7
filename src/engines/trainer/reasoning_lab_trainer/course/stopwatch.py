"""Times the phases of a step."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch


class Stopwatch:
    """Seconds per phase. The time of a nested phase is subtracted from the enclosing phase, so nothing is counted
    twice.
    """

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._open: list[str] = []
        self._since = 0.0

    def begin(self, phase: str) -> None:
        self._account()
        self._open.append(phase)

    def end(self) -> None:
        # Wait for queued GPU work, so it is attributed to this phase.
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            torch.cuda.synchronize()
        self._account()
        self._open.pop()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        self.begin(name)
        try:
            yield
        finally:
            self.end()

    def take(self) -> dict[str, float]:
        """Returns the seconds since the last call, by phase."""
        self._account()
        seconds, self._seconds = self._seconds, {}
        return seconds

    def clear(self) -> None:
        """Discards open phases after an aborted step."""
        self._open.clear()

    def _account(self) -> None:
        now = time.perf_counter()
        if self._open:
            phase = self._open[-1]
            self._seconds[phase] = self._seconds.get(phase, 0.0) + now - self._since
        self._since = now
