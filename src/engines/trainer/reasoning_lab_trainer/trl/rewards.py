"""The rewards of the recipe as TRL reward functions: one per column, scored in one request per batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..link.messages import ScoredRow, ScoreRow

if TYPE_CHECKING:
    from ..course.context import Context

RewardFunction = Callable[..., list[float | None]]


class RewardColumns:
    """TRL calls one function after the other with the same completions. The first call of a batch scores all columns;
    the driver replies once a failing reward has been fixed.
    """

    def __init__(self, context: Context, first_step: int) -> None:
        self._context = context
        self._first_step = first_step
        self._columns = context.assignment["columns"]
        self._tell_ids = any(column["file"] is not None for column in self._columns)
        """Whether a user reward may need token ids; built-in ones do not."""
        tokenizer = context.policy.tokenizer
        self._ends = (tokenizer.eos_token_id, tokenizer.pad_token_id)
        self._scored: list[ScoredRow] = []
        self.completions: list[Any] = []
        """Of the last batch, as in TRL: strings, or lists of messages."""
        self.completion_ids: list[list[int]] = []
        self.functions: list[RewardFunction] = [self._function(i) for i in range(len(self._columns))]

    @property
    def weights(self) -> list[float]:
        return [column["weight"] for column in self._columns]

    @property
    def names(self) -> list[str]:
        return [column["name"] for column in self._columns]

    @property
    def scored(self) -> list[ScoredRow]:
        """Rows of this process in the last batch, in TRL's order."""
        return self._scored

    def _function(self, place: int) -> RewardFunction:
        name = self._columns[place]["name"]

        def reward(prompts: list[Any], completions: list[Any], **columns: Any) -> list[float | None]:
            if place == 0:
                self._score(prompts, completions, columns)
            return [
                # A row on which a reward failed is excluded from its group, whatever the other rewards are.
                None if row["reward"] is None and row["errors"] else row["rewards"].get(name)
                for row in self._scored
            ]

        # TRL names metrics after the function.
        reward.__name__ = name
        return reward

    def _score(self, prompts: list[Any], completions: list[Any], columns: dict[str, Any]) -> None:
        self.completions = completions
        self.completion_ids = columns["completion_ids"]
        step = self._first_step + columns["trainer_state"].global_step
        rows = [
            self._row(prompt, completion, answer, row, ids)
            for prompt, completion, answer, row, ids in zip(
                prompts, completions, columns["answer"], columns["row"], columns["completion_ids"], strict=True
            )
        ]
        in_process = self._context.in_process_rewards
        known, logged = (None, {}) if in_process is None else in_process.score(rows, step)
        self._scored = self._context.score(rows, step, known)
        self._context.score_metrics.update(logged)

    def _row(self, prompt: Any, completion: Any, answer: Any, row: dict[str, Any], ids: list[int]) -> ScoreRow:
        """A completion as input of rewards: strings, tokens if requested, messages of a conversation."""
        scored: ScoreRow = {
            "prompt": text_of_prompt(self._context.policy.tokenizer, prompt),
            "completion": text_of_completion(completion),
            "answer": answer,
            "row": row,
            "truncated": not ids or ids[-1] not in self._ends,
        }
        if self._tell_ids:
            scored["completionIds"] = ids
        if isinstance(prompt, list):
            scored["messages"] = {"prompt": prompt, "completion": completion}
        return scored


def text_of_prompt(tokenizer: Any, prompt: Any) -> str:
    """The text that the policy continues."""
    if isinstance(prompt, str):
        return prompt
    return tokenizer.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True)


def text_of_completion(completion: Any) -> str:
    """The output of the policy; several messages are joined."""
    if isinstance(completion, str):
        return completion
    return "\n".join(str(message.get("content") or "") for message in completion)
