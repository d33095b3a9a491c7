"""One stage of a recipe, as the function that runs it gets it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class Stage:
    index: int
    type: str
    settings: dict[str, Any]
    """Of the resolved recipe."""
    step: int
    """Updates of this stage that were done when the trainer started: above 0 after a resume alone."""
    first_step: int
    """Updates of the run before this stage."""
    first_problem: int
    """Place in the stream of training problems where the stage began."""
    problems_used: int = 0
    """Training problems that it has taken so far; the next stage begins behind them."""

    @property
    def steps(self) -> int:
        return int(self.settings["steps"])


class RunStopped(Exception):
    """The driver wants no further update: not an error."""


class StageEnded(Exception):
    """The stage is over before its first update: not an error."""
