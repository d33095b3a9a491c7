"""Base for stages that train on existing rows: sft, distill, dpo and the reward models."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from datasets import Dataset
from transformers import Trainer

from ..course.fence import fenced
from ..data.hashing import Epochs
from ..failure import Failure
from .gated import Gated

if TYPE_CHECKING:
    from ..course.context import Context
    from ..course.stage import Stage

MAX_ROWS = 1_000_000
"""Maximum number of rows prepared in advance. A longer stage repeats them from the beginning."""

T = TypeVar("T", bound=type[Trainer])


class Measured(Gated):
    """Mixin for a trainer. Must come before the trainer class. Evaluates held-out rows at the interval set in the
    recipe.
    """

    measure_every = 0
    problems_per_batch: int | None = None
    """Training problems per update, for stages that read them from the problem stream."""

    def step_report(self) -> dict[str, Any]:
        """Returns additional metrics, with the prefix `eval/`. Called on every rank."""
        step = self.state.global_step  # type: ignore[attr-defined]
        due = self.measure_every > 0 and (step % self.measure_every == 0 or step >= self.args.max_steps)  # type: ignore[attr-defined]
        if not due or not self.eval_dataset:  # type: ignore[attr-defined]
            return {}
        with self.lab.stopwatch.phase("evaluate"), fenced():
            measured = self.evaluate()  # type: ignore[attr-defined]
        self.model.train()  # type: ignore[attr-defined]
        silent = ("eval_runtime", "eval_samples_per_second", "eval_steps_per_second", "eval_num_tokens", "epoch")
        return {
            "metrics": {
                f"eval/{name.removeprefix('eval_')}": value for name, value in measured.items() if name not in silent
            }
        }


@functools.cache
def measured(base: T) -> T:
    """Returns a TRL trainer class with gate, metrics, control and held-out evaluation."""
    return type(f"Lab{base.__name__}", (Measured, base), {})  # type: ignore[return-value]


def batch_options(context: Context, stage: Stage) -> dict[str, Any]:
    """Converts the stage's `batch_size` to TRL's micro-batches and gradient accumulation. Raises `invalid` if the batch
    cannot be divided evenly among the processes.
    """
    rows = int(stage.settings["batch_size"])
    size = context.world.size
    share, rest = divmod(rows, size)
    if rest or share == 0:
        raise Failure(
            "invalid",
            f'Stage {stage.index + 1} ("{stage.type}"): {rows} rows per batch cannot be divided evenly among '
            f"{size} processes.",
            f'Set "batch_size" to a multiple of {size}.',
        )
    asked = (context.recipe.get("pytorch") or {}).get("microBatch") or share
    micro = next(count for count in range(min(asked, share), 0, -1) if share % count == 0)
    return {
        "per_device_train_batch_size": micro,
        "per_device_eval_batch_size": micro,
        "gradient_accumulation_steps": share // micro,
        # Rows are already in training order.
        "train_sampling_strategy": "sequential",
    }


def longest_row(context: Context) -> int:
    """Returns the maximum row length set in the recipe, capped at the model's context."""
    return min((context.recipe.get("pytorch") or {}).get("maxLength", 1024), context.policy.context)


def lay_out(trainer: Any, context: Context, stage: Stage, order: list[int] | None = None) -> None:
    """Arranges the trainer's prepared rows in training order: `order` if given, or else epochs, each with its own
    shuffle derived from seed and stage. Raises `invalid` if no rows remain.
    """
    rows = len(trainer.train_dataset)
    if rows == 0:
        raise Failure(
            "invalid",
            f'Stage {stage.index + 1} ("{stage.type}") has no rows to train on: none is shorter than'
            f" {longest_row(context)} tokens.",
            'Increase "maxLength" in "pytorch", or use shorter rows or a model with a longer context.',
        )
    if order is None:
        needed = min(stage.steps * int(stage.settings["batch_size"]), max(rows, MAX_ROWS))
        epochs = Epochs(rows, context.recipe["seed"], stage.type, stage.index)
        order = [epochs.at(place) for place in range(needed)]
    trainer.train_dataset = trainer.train_dataset.select(order)


def table(rows: Sequence[dict[str, Any]]) -> Dataset:
    """Converts rows to a dataset for TRL."""
    return Dataset.from_list(list(rows))
