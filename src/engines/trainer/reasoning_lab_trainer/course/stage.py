"""A recipe stage, as passed to the function that runs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class Stage:
    index: int
    type: str
    settings: dict[str, Any]
    """Stage settings from the resolved recipe."""
    step: int
    """Updates completed in this stage when the trainer started. Greater than 0 only after a resume."""
    first_step: int
    """Updates in the run before this stage."""
    first_problem: int
    """Position in the training problem stream at the start of the stage."""
    problems_used: int = 0
    """Number of training problems used so far. The next stage continues after them."""

    @property
    def steps(self) -> int:
        return int(self.settings["steps"])


class RunStopped(Exception):
    """Raised when the driver stops the run. Not an error."""


class StageEnded(Exception):
    """Raised when the stage ends before its first update. Not an error."""
