"""TRL's interfaces for sampling and for sending weights (`RolloutWorkerProtocol`, `WeightTransferProtocol`), on top of
`BatchesAhead`.
"""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from ..failure import Failure
from ..policy.sampler import Manner, Wish
from .advantages import group_advantages
from .batches_ahead import BatchesAhead, saved_batches
from .row_tokens import row_ids
from .sampling import check_fits, pose

if TYPE_CHECKING:
    from ..course.context import Context
    from ..course.stage import Stage
    from .rewards import RewardColumns


@dataclass
class ScoredBatch:
    """A batch in training order, with `num_generations` consecutive rows per prompt."""

    version: int
    """Updates of the stage before the weights that sampled it."""
    posed: list[dict[str, Any]]
    """`prompt`, `answer` and `row` for each row."""
    prompt_ids: list[list[int]]
    completion_ids: list[list[int]]
    logprobs: list[list[float]]
    truncated: list[bool]
    rewards: torch.Tensor
    """[rows, reward columns], with NaN where a reward does not apply."""
    advantages: torch.Tensor


class AsyncRollouts:
    """
    TRL's trainer takes rows from `rollout_buffer`, which is this object. A batch is scored in the training thread when
    its first row is taken.
    """

    def __init__(
        self, context: Context, stage: Stage, columns: RewardColumns, make_sample: Any, *, updates: int, top_p: float
    ) -> None:
        """`make_sample`: TRL's RolloutSample; `updates`: number of updates per batch."""
        settings = stage.settings
        self._context = context
        self._stage = stage
        self._columns = columns
        self._make_sample = make_sample
        self._updates = updates
        self._size: int = settings["num_generations"]
        self._posed: dict[int, tuple[list[dict[str, Any]], list[list[int]]]] = {}
        """Problems and prompt tokens of each requested batch."""
        self._rows: deque[Any] = deque()
        self._ahead: BatchesAhead | None = None
        self._manner = Manner(settings["temperature"], top_p)
        self._trainer: Any = None
        self.rollout_buffer = self
        self.metrics_queue: queue.Queue[Any] = queue.Queue()

    def attach(self, trainer: Any) -> None:
        """Called once, after the trainer is created."""
        self._trainer = trainer

    def start(self) -> None:
        """Called by TRL after the first call of `send_weights`."""

    def stop(self) -> None:
        if self._ahead is not None:
            self._ahead.close()

    def update_model_version(self, model_version: int) -> None:
        """Does nothing: versions follow from the number of updates."""

    def check_health(self, stale_after_s: float) -> None:
        """Does nothing: `get` raises the error with which sampling failed."""

    def init_weight_transfer(self) -> None:
        """Creates the copy of the policy. Called before training starts, and with the weights of the checkpoint if the
        run was resumed.
        """
        stage, step = self._stage, self._trainer.state.global_step
        self._ahead = BatchesAhead(
            self._context,
            self._manner,
            self._wishes,
            batches=-(-stage.steps // self._updates),
            ahead=stage.settings["max_staleness"] // self._updates,
        )
        self._next = step // self._updates
        resumed_from = self._trainer.resumed_from
        saved = {} if resumed_from is None else saved_batches(resumed_from)
        if step > 0 and not saved.keys() >= set(self._ahead.earlier(self._next)):
            self._context.alert(
                "warning",
                "The checkpoint lacks the batches that were sampled ahead. They are sampled with newer weights, so the "
                "run differs from an uninterrupted one.",
            )
        for index in saved:
            self._pose(index)
        self._ahead.begin(saved)

    def pause(self) -> None:
        """Does nothing: `send_weights` waits for the batches that are being sampled."""

    def send_weights(self, iterator: Iterator[tuple[str, torch.Tensor]]) -> None:
        """Called by TRL before training starts and after every update."""
        updates: int = self._trainer.state.global_step
        if updates % self._updates != 0 or updates >= self._stage.steps:
            return
        with self._context.stopwatch.phase("generate"):
            self.ahead.take_weights(iterator, updates)
        self.ahead.request(updates // self._updates)

    def resume(self) -> None:
        """Does nothing, like `pause`."""

    def destroy(self) -> None:
        """Does nothing: `stop` ends the thread."""

    @property
    def ahead(self) -> BatchesAhead:
        assert self._ahead is not None
        return self._ahead

    def qsize(self) -> int:
        return len(self._rows)

    def get(self, timeout: float | None = None) -> Any:
        """Returns the next row, and waits for its batch first if necessary."""
        if not self._rows:
            self._take()
        return self._rows.popleft()

    def _take(self) -> None:
        index = self._next
        with self._context.stopwatch.phase("generate"):
            batch = self.ahead.batch(index)
        posed, prompt_ids = self._posed[index]
        ids = [one.tokens for one in batch.completions]
        trainer, columns = self._trainer, self._columns
        with self._context.stopwatch.phase("reward"):
            rewards = self._score(posed, ids)
        weights = torch.tensor(columns.weights, dtype=torch.float32)
        advantages = group_advantages(rewards, weights, self._size, self._stage.settings)
        ends = (self._context.policy.tokenizer.eos_token_id, self._context.policy.tokenizer.pad_token_id)
        scored = ScoredBatch(
            batch.version,
            posed,
            prompt_ids,
            ids,
            [one.logprobs for one in batch.completions],
            [not row or row[-1] not in ends for row in ids],
            rewards,
            advantages,
        )
        self._next = index + 1
        # Later checkpoints are written after the first update on this batch, or without it.
        self.ahead.forget(index)
        for past in [past for past in self._posed if past < index]:
            del self._posed[past]
        updates = trainer.state.global_step
        version = trainer.model_version - (updates - batch.version)
        leaves_out = self._stage.settings.get("mask_truncated_completions", False)
        for row, tokens in enumerate(ids):
            prompt = prompt_ids[row]
            trained = 0 if leaves_out and scored.truncated[row] else 1
            self._rows.append(
                self._make_sample(
                    prompt=[],
                    completion=[],
                    input_ids=[*prompt, *tokens],
                    completion_mask=[*[0] * len(prompt), *[trained] * len(tokens)],
                    old_log_probs=[*[0.0] * len(prompt), *scored.logprobs[row]],
                    advantage=float(advantages[row]),
                    model_version=version,
                    group_id=index * (len(ids) // self._size) + row // self._size,
                    metrics={},
                )
            )
        trainer.batch_taken(scored)

    def _score(self, posed: list[dict[str, Any]], ids: list[list[int]]) -> torch.Tensor:
        tokenizer = self._context.policy.tokenizer
        texts = tokenizer.batch_decode(ids, skip_special_tokens=True)
        chats = isinstance(posed[0]["prompt"], list)
        completions = [[{"role": "assistant", "content": text}] if chats else text for text in texts]
        named = {
            "prompts": [row["prompt"] for row in posed],
            "completions": completions,
            "completion_ids": ids,
            "answer": [row["answer"] for row in posed],
            "row": [row["row"] for row in posed],
            "trainer_state": self._trainer.state,
        }
        columns = [function(**named) for function in self._columns.functions]
        table = [[float("nan") if value is None else float(value) for value in column] for column in columns]
        return torch.tensor(table, dtype=torch.float32).T

    def _pose(self, index: int) -> tuple[list[dict[str, Any]], list[list[int]]]:
        """Returns a batch's problems and the tokens of its prompts, one per row."""
        if index not in self._posed:
            context, settings = self._context, self._stage.settings
            count: int = settings["prompts_per_step"]
            problems = context.problems.training(self._stage.first_problem + index * count, count)
            asked = pose(context, problems)
            ids = row_ids(context.policy, asked, None, "Prompts")
            check_fits(context.policy, [row["prompt"] for row in asked], ids, settings["max_completion_length"])
            self._posed[index] = (
                [dict(row) for row in asked for _ in range(self._size)],
                [tokens for tokens in ids for _ in range(self._size)],
            )
        return self._posed[index]

    def _wishes(self, index: int) -> list[Wish]:
        _, prompts = self._pose(index)
        stage, seed = self._stage, self._context.recipe["seed"]
        limit: int = stage.settings["max_completion_length"]
        return [Wish(ids, f"ahead/{seed}/{stage.index}/{index}/{row}", limit) for row, ids in enumerate(prompts)]


def check_model(model: Any, where: str) -> None:
    """Raises Failure `unsupported` if TRL's trainer cannot train the model's architecture."""
    from trl.trainer.utils import compute_flops_per_token

    try:
        compute_flops_per_token(model.config.get_text_config(), 1)
        known = model.lm_head.weight is not None and callable(model.model)
    except AttributeError:
        known = False
    if not known:
        raise Failure(
            "unsupported",
            f'{where}: TRL does not support "max_staleness" for the architecture {type(model).__name__}.',
            'Remove "max_staleness", or choose another model.',
        )
