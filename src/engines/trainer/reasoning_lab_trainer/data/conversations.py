"""Reads prompts and completions from a file, either as strings or as messages."""

from __future__ import annotations

from typing import Any

from ..failure import Failure
from ..models.template import Message, Prompt
from .source import Numbered, Source, word_of_place


class Cells:
    """Reads cells from a source. Every error message includes file, row and column."""

    def __init__(self, source: Source, block: str) -> None:
        self._source = source
        self._block = block

    def fault(self, numbered: Numbered, message: str, action: str) -> Failure:
        place = f"{self._source.name}, {word_of_place(self._source)} {numbered.number}"
        return Failure("invalid", f"{place}, {message}.", action)

    def column(self, numbered: Numbered, role: str, name: str) -> Any:
        """Returns the cell in a required column."""
        if name not in numbered.row:
            others = ", ".join(list(numbered.row)[:8]) or "none"
            raise self.fault(
                numbered,
                f'has no column "{name}" (columns: {others})',
                f'Set "{role}" under "{self._block}" in the stage to the column name.',
            )
        return numbered.row[name]

    def said(self, numbered: Numbered, role: str, name: str) -> Prompt:
        """Returns a nonempty string, or a list of messages with role and content."""
        value = self.column(numbered, role, name)
        if isinstance(value, str):
            if not value.strip():
                raise self.fault(numbered, f'has an empty "{name}"', "Add some text, or remove the row.")
            return value
        if isinstance(value, list) and value and all(is_message(one) for one in value):
            return [message_of(one) for one in value]
        raise self.fault(
            numbered,
            f'has a "{name}" that is neither a string nor a list of messages',
            'Write a string, or [{"role": ..., "content": ...}].',
        )


def is_message(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str) and isinstance(value.get("content"), str)


def message_of(value: dict[str, Any]) -> Message:
    return {"role": value["role"], "content": value["content"]}
