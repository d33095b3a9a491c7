"""Training-loop gate for any transformers trainer."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from .checkpoint import boundary_of
from .hyperparameters import Hyperparameters
from .stage import RunStopped, Stage, StageEnded

if TYPE_CHECKING:
    from .context import Context


class GateCallback(TrainerCallback):
    """Reports every update to the driver and carries out its commands. It runs in `on_log`, when the update's
    metrics are known and the next update has not started.
    """

    def __init__(self, context: Context, stage: Stage, trainer: Trainer) -> None:
        self._context = context
        self._stage = stage
        self._trainer = trainer
        self._hyperparameters = Hyperparameters(trainer)
        self._told = stage.step
        self._since = time.perf_counter()
        self.stopped = False

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        stage = self._stage
        self._told = state.global_step
        stage.step = state.global_step
        self._context.boundary = boundary_of(self._trainer)
        verdict = self._context.gate.pass_through(
            "stage", {"index": stage.index, "type": stage.type, "step": state.global_step}
        )
        if verdict.decision == "stop":
            raise RunStopped
        if verdict.decision == "end-stage":
            raise StageEnded
        self._take_over(verdict.hyperparameters)
        self._since = time.perf_counter()

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._context.stopwatch.begin("update")

    def on_pre_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._context.updating = True

    def on_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._context.updating = False
        self._context.boundary = None

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        self._context.stopwatch.end()

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        # The summary at the end of training is not an update. Clear the history, which is unused and would grow without
        # bound.
        state.log_history.clear()
        if logs is None or "loss" not in logs or state.global_step <= self._told:
            return
        context, stage = self._context, self._stage
        self._told = state.global_step
        now = time.perf_counter()
        batch_ends = stage_batch_ends(self._trainer, state.global_step) or state.global_step >= stage.steps
        report: Callable[[], dict[str, Any]] = getattr(self._trainer, "step_report", dict)
        own = report()
        tokens = context.tokens_before + tokens_of(self._trainer, logs)
        metrics = {
            **scalars(logs),
            **own.get("metrics", {}),
            **{f"time/{phase}": seconds for phase, seconds in context.stopwatch.take().items()},
        }
        if "num_tokens" in metrics:
            metrics["num_tokens"] = tokens
        metrics.setdefault("step_time", now - self._since)
        context.add_device_metrics(metrics)
        context.tokens = tokens
        stage.step = state.global_step
        stage.problems_used = problems_used(self._trainer, state.global_step)
        if batch_ends:
            context.boundary = boundary_of(self._trainer)
        params: dict[str, Any] = {
            "step": stage.first_step + state.global_step,
            "metrics": metrics,
            "batchEnds": batch_ends,
            "tokens": tokens,
        }
        if own.get("rollouts") is not None:
            params["rollouts"] = own["rollouts"]
        verdict = context.gate.pass_through("step", params)
        if verdict.decision == "stop":
            self.stopped = True
            control.should_training_stop = True
        elif verdict.decision == "end-stage":
            control.should_training_stop = True
        elif batch_ends:
            self._take_over(verdict.hyperparameters)
        self._since = time.perf_counter()

    def _take_over(self, hyperparameters: dict[str, float]) -> None:
        for sentence in self._hyperparameters.apply(hyperparameters):
            self._context.alert("warning", sentence)


def scalars(logs: dict[str, Any]) -> dict[str, float | None]:
    """Returns a log's numeric values, with None for values that JSON cannot represent."""
    return {
        name: float(value) if math.isfinite(value) else None
        for name, value in logs.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    } | {name: None for name, value in logs.items() if value is None}


def stage_batch_ends(trainer: Trainer, step: int) -> bool:
    """Returns whether a generation batch ends after `step` updates of the stage. Always true without generation."""
    return step % updates_per_batch(trainer) == 0


def updates_per_batch(trainer: Any) -> int:
    """Returns the number of updates per generation batch."""
    generation = getattr(trainer.args, "steps_per_generation", None)
    if generation is None:
        return 1
    return max(1, generation * trainer.num_iterations // trainer.args.gradient_accumulation_steps)


def problems_used(trainer: Any, step: int) -> int:
    """Returns the number of training problems that a stage has used after `step` updates."""
    count = getattr(trainer, "problems_per_batch", None)
    if count is None:
        return 0
    return count * -(-step // updates_per_batch(trainer))


def tokens_of(trainer: Any, logs: dict[str, Any]) -> int:
    """Returns the number of tokens that the stage has trained on or sampled."""
    counted = logs.get("num_tokens")
    return int(counted if counted is not None else trainer.state.num_input_tokens_seen)
