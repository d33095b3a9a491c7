"""Exposes the recipe's rewards as TRL reward functions, one per column. Each batch is scored in a single request."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..link.messages import ScoredRow, ScoreRow
from ..models.vision import without_pictures
from .environments import check_failures, reward_column

if TYPE_CHECKING:
    from ..course.context import Context
    from .environments import RemoteEnvironment

RewardFunction = Callable[..., list[float | None]]


class RewardColumns:
    """TRL calls the functions one after another with the same completions. The first call in a batch scores all
    columns. If a reward fails, the driver replies only after the reward has been fixed.
    """

    def __init__(self, context: Context, first_step: int) -> None:
        self._context = context
        self._first_step = first_step
        self._columns = context.assignment["columns"]
        self._tell_ids = any(column["file"] is not None for column in self._columns)
        """Whether a user reward may need token ids. Built-in rewards do not."""
        tokenizer = context.policy.tokenizer
        self._ends = (tokenizer.eos_token_id, tokenizer.pad_token_id)
        self._environment = reward_column(context.recipe)
        self._scored: list[ScoredRow] = []
        self.completions: list[Any] = []
        """Completions from the last batch, as TRL provides them: strings or lists of messages."""
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
        """This process's scored rows from the last batch, in TRL's order."""
        return self._scored

    def _function(self, place: int) -> RewardFunction:
        name = self._columns[place]["name"]

        def reward(prompts: list[Any], completions: list[Any], **columns: Any) -> list[float | None]:
            if place == 0:
                self._score(prompts, completions, columns)
            return [
                # If a reward failed on a row, exclude the row from its group, regardless of the other rewards.
                None if row["reward"] is None and row["errors"] else row["rewards"].get(name)
                for row in self._scored
            ]

        # TRL uses the function name in metric names.
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
        environments = columns.get("environments")
        if environments:
            self._score_episodes(rows, completions, environments, step)
        else:
            self._scored = self._score_rows(rows, step, None)

    def _score_rows(self, rows: list[ScoreRow], step: int, earned: list[float | None] | None) -> list[ScoredRow]:
        """`earned`: the rewards from the environment, if the recipe lists them."""
        in_process = self._context.in_process_rewards
        known, logged = (None, {}) if in_process is None else in_process.score(rows, step)
        if self._environment is not None and earned is not None:
            known = {**(known or {}), self._environment: earned}
        scored = self._context.score(rows, step, known)
        self._context.score_metrics.update(logged)
        return scored

    def _score_episodes(
        self, rows: list[ScoreRow], completions: list[Any], environments: list[RemoteEnvironment], step: int
    ) -> None:
        """Scores the episodes that did not fail; the others have no rewards. Raises EpisodesFailed."""
        earned = [one._reward(completion) for one, completion in zip(environments, completions, strict=True)]
        failed, played = check_failures(self._context, environments)
        errors = [one._played.error for one in environments]
        whole = [i for i, error in enumerate(errors) if error is None]
        # All processes take part, even those whose episodes all failed.
        if failed < played:
            scored = iter(self._score_rows([rows[i] for i in whole], step, [earned[i] for i in whole]))
        else:
            self._context.score_metrics = {}
            scored = iter(())
        column = self._environment or "environment"
        nothing: dict[str, float | None] = dict.fromkeys(self.names)
        self._scored = [
            next(scored)
            if error is None
            else {"rewards": dict(nothing), "errors": {column: str(error["message"])}, "reward": None}
            for error in errors
        ]
        if failed > 0:
            self._context.score_metrics[f"rewards/{column}/errors"] = float(failed)

    def _row(self, prompt: Any, completion: Any, answer: Any, row: dict[str, Any], ids: list[int]) -> ScoreRow:
        """Converts a completion to reward input: strings, token ids if requested, and messages in conversations."""
        scored: ScoreRow = {
            "prompt": text_of_prompt(self._context.policy.processing, prompt),
            "completion": text_of_completion(completion),
            "answer": answer,
            "row": row,
            "truncated": not ids or ids[-1] not in self._ends,
        }
        if self._tell_ids:
            scored["completionIds"] = ids
        if isinstance(prompt, list):
            # Remove the pictures that TRL adds to prompts: they cannot be sent.
            asked = prompt if self._context.pictures is None else without_pictures(prompt)
            scored["messages"] = {"prompt": asked, "completion": completion}
        return scored


def text_of_prompt(tokenizer: Any, prompt: Any) -> str:
    """Returns the text that the policy continues."""
    if isinstance(prompt, str):
        return prompt
    return tokenizer.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True)


def text_of_completion(completion: Any) -> str:
    """Returns the policy's output, joining multiple messages."""
    if isinstance(completion, str):
        return completion
    return "\n".join(str(message.get("content") or "") for message in completion)
