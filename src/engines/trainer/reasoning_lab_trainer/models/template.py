"""Formats problems for the policy, like `src/core/text/template.ts`, and additionally supports chat templates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Message = dict[str, str]
Prompt = str | list[Message]
"""A TRL prompt: either a string or a conversation to which the chat template is applied."""


@dataclass(frozen=True)
class PromptTemplate:
    prompt: str
    """Text around the problem, containing the placeholder `{prompt}`."""
    think: tuple[str, str] | None
    answer: tuple[str, str] | None
    chat: bool = False
    system: str | None = None

    @staticmethod
    def of(recipe: dict[str, Any]) -> PromptTemplate:
        """Creates the template specified in a resolved recipe."""
        spec = recipe["template"]
        return PromptTemplate(
            prompt=spec["prompt"],
            think=tuple(spec["think"]) if spec["think"] else None,
            answer=tuple(spec["answer"]) if spec["answer"] else None,
            chat=bool(spec.get("chat", False)),
            system=spec.get("system"),
        )

    def render(self, problem: str) -> str:
        return self.prompt.replace("{prompt}", readable(problem))

    def ask(self, problem: str) -> Prompt:
        """Formats a problem as a TRL prompt. See `reply`."""
        return self.converse(self.render(problem)) if self.chat else self.render(problem)

    def converse(self, text: str) -> list[Message]:
        system = [] if self.system is None else [{"role": "system", "content": self.system}]
        return [*system, {"role": "user", "content": text}]

    def reply(self, completion: str) -> Prompt:
        """Formats a completion for TRL. See `ask`."""
        return [{"role": "assistant", "content": completion}] if self.chat else completion

    def worked(self, solution: str, answer: str) -> str:
        """Returns the completion to train on for a worked problem, without the end-of-sequence token. Without answer
        tags, the answer follows the thinking section. Without think tags, the solution is omitted.
        """
        thought = "" if self.think is None else f"{self.think[0]}{solution}{self.think[1]}"
        return f"{thought}{answer}" if self.answer is None else f"{thought}{self.answer[0]}{answer}{self.answer[1]}"


def readable(text: str) -> str:
    """Replaces lone surrogates with U+FFFD. JSON allows lone surrogates, but tokenizers reject them."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
