"""Reads teacher completions for `distill`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..models.template import Prompt
from .answers import gold_text
from .conversations import Cells
from .source import Source, plain, read_rows

if TYPE_CHECKING:
    from ..course.context import Context


@dataclass(frozen=True)
class TeacherRow:
    prompt: Prompt
    completion: Prompt
    answer: str | None
    row: dict[str, Any]


def open_teacher(context: Context, spec: dict[str, Any], scored: bool) -> tuple[list[TeacherRow], str]:
    """Returns the rows for a resolved stage and the source's display name. A string prompt is rendered with the
    recipe's template, as a problem would be. `scored`: whether the answer column is required. Raises the same
    failures as `read_rows`, and `invalid` with file, row and column.
    """
    source = Source(spec["path"], None, spec["split"])
    cells = Cells(source, "data")
    template = context.policy.template
    rows: list[TeacherRow] = []
    for numbered in read_rows(source):
        prompt = cells.said(numbered, "prompt", spec["prompt"])
        completion = cells.said(numbered, "completion", spec["completion"])
        answer = cells.column(numbered, "answer", spec["answer"]) if scored else numbered.row.get(spec["answer"])
        if isinstance(prompt, str):
            prompt = (
                template.converse(template.render(prompt)) if isinstance(completion, list) else template.ask(prompt)
            )
        if isinstance(prompt, list) and isinstance(completion, str):
            completion = [{"role": "assistant", "content": completion}]
        rows.append(TeacherRow(prompt, completion, gold_text(answer), plain(numbered.row)))
    return rows, source.name
