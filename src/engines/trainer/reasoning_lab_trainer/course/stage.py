"""One stage of a recipe, as passed to the function that runs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class Stage:
    index: int
    type: str
    settings: dict[str, Any]
    """From the resolved recipe."""
    step: int
    """Updates of this stage done when the trainer started: above 0 only after a resume."""
    first_step: int
    """Updates of the run before this stage."""
    first_problem: int
    """Position in the stream of training problems where the stage started."""
    problems_used: int = 0
    """Training problems used so far; the next stage continues after them."""

    @property
    def steps(self) -> int:
        return int(self.settings["steps"])


class RunStopped(Exception):
    """The driver wants no further update: not an error."""


class StageEnded(Exception):
    """The stage is over before its first update: not an error."""
