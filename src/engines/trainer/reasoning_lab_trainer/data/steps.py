"""Reads solutions with labeled steps, for `process-reward-model`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..failure import Failure
from .conversations import Cells
from .source import Numbered, Source, read_rows
from .split import held_out, prompt_key

if TYPE_CHECKING:
    from ..course.context import Context

FORM = 'Each line must contain {"prompt", "completions": [steps], "labels": [true, false or 0 to 1]}.'


@dataclass(frozen=True)
class Steps:
    name: str
    training: list[dict[str, Any]]
    """Columns `prompt`, `completions` (the text of each step) and `labels` (whether each step is correct), as accepted
    by TRL.
    """
    held_out: list[dict[str, Any]]


def open_steps(context: Context, spec: dict[str, Any]) -> Steps:
    """Reads the labeled steps for a resolved stage. Prompts are as the policy sees them. TRL trains on two classes, so
    labels between 0 and 1 count as correct if they are at least 0.5, and the user is notified. Raises the same
    failures as `read_rows`, and `invalid` with file and line.
    """
    source = Source(spec["path"])
    cells = Cells(source, "labels")
    rows: list[dict[str, Any]] = []
    soft = 0
    for numbered in read_rows(source):
        row, between = _row(numbered, cells)
        rows.append(row)
        soft += between
    if soft > 0:
        context.alert(
            "info",
            f"{source.name}: {soft} labels are between 0 and 1. TRL uses two classes, so labels of 0.5 and "
            "above count as correct.",
        )
    tests = held_out([prompt_key(row["prompt"]) for row in rows], spec["heldOutShare"])
    training = [row for row, test in zip(rows, tests, strict=True) if not test]
    held = [row for row, test in zip(rows, tests, strict=True) if test]
    if not training:
        raise Failure(
            "invalid",
            f"{source.name} has no solutions left to train on: all {len(held)} are held out.",
            'Add solutions, or lower "heldOutShare" under "labels".',
        )
    if not held:
        context.alert("info", f"{source.name} has too few prompts to hold any out.")
    return Steps(source.name, training, held)


def _row(numbered: Numbered, cells: Cells) -> tuple[dict[str, Any], int]:
    prompt = cells.column(numbered, "prompt", "prompt")
    steps = cells.column(numbered, "completions", "completions")
    labels = cells.column(numbered, "labels", "labels")
    if not isinstance(prompt, str) or not prompt:
        raise cells.fault(numbered, 'has a "prompt" that is not a string', FORM)
    if not isinstance(steps, list) or not steps or not all(isinstance(step, str) for step in steps):
        raise cells.fault(numbered, 'has a "completions" value that is not a list of strings', FORM)
    if not isinstance(labels, list) or not all(_is_label(label) for label in labels):
        raise cells.fault(numbered, 'has "labels" that are not true, false or numbers from 0 to 1', FORM)
    if len(labels) != len(steps):
        raise cells.fault(numbered, f"has {len(labels)} labels for {len(steps)} steps", FORM)
    between = sum(0 < label < 1 for label in labels)
    return {"prompt": prompt, "completions": steps, "labels": [bool(label >= 0.5) for label in labels]}, between


def _is_label(value: Any) -> bool:
    return isinstance(value, bool) or (isinstance(value, (int, float)) and 0 <= value <= 1)
