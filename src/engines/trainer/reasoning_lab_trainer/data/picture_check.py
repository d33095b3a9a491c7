"""Checks pictures before a run."""

from __future__ import annotations

from .limits import PICTURES_CHECKED
from .pictures import Pictures
from .problems import Problems


def check_pictures(pictures: Pictures, problems: Problems) -> None:
    """Checks the pictures of the held-out problems and of one epoch, so that a bad picture does not end the run hours
    later. Checks at most the first `PICTURES_CHECKED` problems of each. Every process must call it.
    """
    for problem in problems.held_out(PICTURES_CHECKED):
        pictures.check_problem(problem, held_out=True)
    for problem in problems.training(0, min(problems.total or 0, PICTURES_CHECKED)):
        pictures.check_problem(problem)
