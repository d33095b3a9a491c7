"""Formats of known datasets. The table is in `presets.json`, which is generated from `src/core/dataset/presets.ts`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

Reading = Literal["columns", "hashes", "boxed", "code", "countdown"]

MISSING = object()
"""Marks a field that is missing from a row."""


@dataclass(frozen=True)
class Columns:
    prompt: str = "prompt"
    answer: str = "answer"
    solution: str = "solution"
    reading: Reading = "columns"
    image: str | None = None

    @staticmethod
    def of(dataset: dict[str, Any]) -> Columns:
        """Creates columns from the `dataset` block of a resolved recipe."""
        preset = dataset.get("preset")
        reading: Reading = "columns" if preset is None else presets()[preset]["reading"]
        return Columns(dataset["prompt"], dataset["answer"], dataset["solution"], reading, dataset.get("image"))

    @property
    def needed(self) -> list[tuple[str, str]]:
        """Returns the roles and names of the required columns."""
        roles = [("prompt", self.prompt), ("answer", self.answer)]
        images = [] if self.image is None else [("image", self.image)]
        return [*(roles[:1] if self.reading == "code" else roles), *images]


def presets() -> dict[str, dict[str, Any]]:
    """Returns the table of known datasets."""
    return json.loads((files(__package__) / "presets.json").read_text("utf-8"))


@dataclass(frozen=True)
class Parts:
    """Unmodified value of each role in a row, or `MISSING` if absent."""

    prompt: Any
    answer: Any
    solution: Any
    row: dict[str, Any]


def cell(row: Any, column: str) -> Any:
    """Returns the value of a column in a row: the field with that name or, failing that, the value at its dot-separated
    path through objects and lists ("reward_model.ground_truth", "messages.0.content"). Returns `MISSING` if there is
    neither. The embedded engine applies the same rule.
    """
    if column in row:
        return row[column]
    value = row
    for name in column.split("."):
        if isinstance(value, list) and name.isascii() and name.isdigit() and str(int(name)) == name:
            if int(name) >= len(value):
                return MISSING
            value = value[int(name)]
        elif isinstance(value, dict) and name in value:
            value = value[name]
        else:
            return MISSING
    return value


_ASKING = ("system", "developer", "user")


def prompt_of_messages(value: Any) -> Any:
    """Joins a list of system and user messages into a single prompt, separated by blank lines. Returns other values
    unchanged.
    """
    if not isinstance(value, list) or not value:
        return value
    for message in value:
        if not (
            isinstance(message, dict) and message.get("role") in _ASKING and isinstance(message.get("content"), str)
        ):
            return value
    return "\n\n".join(message["content"] for message in value)


_CALCULATOR = re.compile(r"<<[^<>]*>>")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")


def row_parts(row: dict[str, Any], columns: Columns) -> Parts:
    """Extracts prompt, answer and solution from a row that has the required columns."""
    prompt = cell(row, columns.prompt)
    answer = cell(row, columns.answer)
    solution = cell(row, columns.solution)
    if columns.reading == "hashes":
        if not isinstance(answer, str):
            return Parts(prompt, answer, MISSING, row)
        worked, mark, stated = answer.rpartition("####")
        if not mark:
            return Parts(prompt, MISSING, MISSING, row)
        return Parts(prompt, _THOUSANDS.sub("", stated.strip()), _CALCULATOR.sub("", worked).strip(), row)
    if columns.reading == "boxed":
        boxes = boxed(answer) if isinstance(answer, str) else []
        return Parts(prompt, boxes[-1].strip() if boxes else MISSING, solution, row)
    if columns.reading == "code":
        tests = row.get("test_list")
        if isinstance(prompt, str) and tests and isinstance(tests, list) and all(isinstance(t, str) for t in tests):
            prompt = f"{prompt}\n\nYour code should pass these tests:\n" + "\n".join(tests)
        return Parts(prompt, None, solution, row)
    if columns.reading == "countdown":
        whole = isinstance(prompt, list) and all(type(number) is int for number in prompt)
        asked = (
            f"Using the numbers {', '.join(map(str, prompt))}, make an expression that equals {answer}. "
            "You can use + - * / and parentheses, and each number exactly once."
            if whole
            else MISSING
        )
        return Parts(asked, answer, solution, {**row, "numbers": prompt if whole else None, "target": answer})
    return Parts(prompt_of_messages(prompt), answer, solution, row)


_BOX = re.compile(r"\\{1,2}(?:boxed|fbox)(?![a-zA-Z])\s*(?=[{0-9])")
_DEEPEST = 240


def boxed(text: str) -> list[str]:
    r"""Returns the content of every closed, non-nested `\boxed{…}` and `\fbox{…}`."""
    found: list[str] = []
    at = 0
    while (match := _BOX.search(text, at)) is not None:
        start = match.end()
        at = start
        if text[start] != "{":
            found.append(text[start])
            continue
        end = _group_end(text, start)
        if end >= 0:
            found.append(text[start + 1 : end])
            at = end + 1
    return found


def _group_end(text: str, start: int) -> int:
    depth, i = 0, start
    while i < len(text):
        character = text[i]
        if character == "\\":
            i += 1
        elif character == "{":
            depth += 1
            if depth > _DEEPEST:
                return -1
        elif character == "}":
            depth -= 1
            if depth == 0:
                return i
        i += 1
    return -1
