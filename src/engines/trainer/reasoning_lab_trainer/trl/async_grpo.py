"""The `grpo` stage with `max_staleness`: TRL's AsyncGRPOTrainer, which trains while the next batches are sampled.

TRL samples with a vLLM server that receives the weights over NCCL. Here, a thread of the trainer samples with a copy of
the weights, on any device.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import torch

from ..course.callback import updates_per_batch
from ..course.train_stage import train
from ..link.framing import Written
from .arguments import training_arguments
from .async_rollouts import AsyncRollouts, ScoredBatch, check_model
from .batch_metrics import completion_metrics, reward_metrics, trl_reward_metrics
from .gated import Gated
from .options import place_of, settings_by_name
from .pieces import Pieces
from .refused import async_module, find_trainer, trainer_of
from .rewards import RewardColumns
from .rollouts import GenerationBatch
from .sampling import kept_in_run, place_dataset
from .sampling_stage import batch_parts

if TYPE_CHECKING:
    from ..course.context import Context
    from ..course.stage import Stage


def run_async_stage(context: Context, stage: Stage) -> None:
    """Trains until the stage ends."""
    settings = stage.settings
    trainer_class, config_class = find_trainer(trainer_of(settings))
    check_model(context.policy.model, place_of(stage.index, settings))
    columns = RewardColumns(context, stage.first_step)
    micro, accumulated = batch_parts(context, stage)
    updates: int = settings["steps_per_generation"]
    options = {
        **settings_by_name(config_class, settings),
        "per_device_train_batch_size": micro,
        "gradient_accumulation_steps": accumulated,
        # A fixed number of rows per forward pass.
        "token_budget": -1,
        # TRL would drop the rows of a batch's later updates, for which the weights are older than for its first.
        "max_staleness": settings["max_staleness"] + updates,
    }
    arguments = training_arguments(context, stage, config_class, **options)
    module = async_module()
    rollouts = AsyncRollouts(context, stage, columns, module.RolloutSample, updates=updates, top_p=arguments.top_p)
    with patch.object(module, "create_model_from_path", lambda *_, **__: context.policy.model):
        trainer = type("LabAsyncGRPOTrainer", (AsyncSampling, trainer_class), {})(
            model=context.policy.name,
            args=arguments,
            train_dataset=place_dataset(stage.first_problem, 1),
            processing_class=context.policy.tokenizer,
            rollout_worker=rollouts,
            weight_transfer=rollouts,
        )
    trainer.begin_sampling(context, stage, columns, rollouts)
    rollouts.attach(trainer)
    train(context, stage, trainer)


class AsyncSampling(Gated):
    """Mixin for AsyncGRPOTrainer. Must come before the trainer class. Records its batches."""

    replaces_forward = True
    """TRL's trainer replaces the model's forward method with one that returns log-probabilities."""

    num_iterations = 1
    beta = 0.0

    def begin_sampling(self, context: Context, stage: Stage, columns: RewardColumns, rollouts: AsyncRollouts) -> None:
        """Called once, after the trainer is created."""
        self.lab = context
        self.lab_stage = stage
        self.columns = columns
        self.rollouts = rollouts
        self.resumed_from: str | None = None
        self.num_generations: int = stage.settings["num_generations"]
        self.problems_per_batch: int = stage.settings["prompts_per_step"]
        self.args.steps_per_generation = stage.settings["steps_per_generation"] * self.args.gradient_accumulation_steps
        self.fixed_hyperparameters = {
            "temperature": "TRL's AsyncGRPOTrainer cannot change the temperature during a stage.",
            "beta": "TRL's AsyncGRPOTrainer has no KL term.",
        }
        self._pieces = Pieces(context.policy.tokenizer)
        self._batch: GenerationBatch | None = None
        self._places: dict[tuple[int, ...], list[int]] = {}
        self._report: dict[str, float | None] | None = None

    def _load_optimizer_and_scheduler(self, checkpoint_folder: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint_folder)
        self.resumed_from = checkpoint_folder

    def get_train_dataloader(self) -> Any:
        """Like TRL's, but takes rows only when they are needed. With Accelerate's loader, a batch would be scored
        before the last update on the previous one.
        """
        return super().get_train_dataloader().base_dataloader  # type: ignore[misc]

    def batch_taken(self, scored: ScoredBatch) -> None:
        """Called when training on a batch begins."""
        columns = self.columns
        ids = scored.completion_ids
        self._batch = GenerationBatch(
            inputs=scored.posed,
            first_row=0,
            completions=columns.completions,
            completion_ids=ids,
            scored=columns.scored,
            advantages=scored.advantages,
            sampling=padded(scored.logprobs),
            version=self.lab_stage.first_step + scored.version,
        )
        self._places = {}
        for row, tokens in enumerate(ids):
            self._places.setdefault((*scored.prompt_ids[row], *tokens), []).append(row)
        self.state.num_input_tokens_seen += sum(len(row) for row in [*scored.prompt_ids, *ids])
        weights = torch.tensor(columns.weights, dtype=torch.float32)
        self._report = {
            **trl_reward_metrics(scored.rewards, weights, columns.names, self.num_generations),
            **reward_metrics(scored.rewards, weights, self.num_generations),
            **completion_metrics(ids, scored.truncated),
        }

    def compute_loss(self, model: Any, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        outputs: list[dict[str, torch.Tensor]] = []

        def recorded(**named: Any) -> dict[str, torch.Tensor]:
            outputs.append(model(**named))
            return outputs[-1]

        loss = super().compute_loss(recorded, inputs, *args, **kwargs)  # type: ignore[misc]
        if self._batch is not None and self._is_first_update(self.state.global_step + 1):
            self._record(inputs, outputs[0]["log_probs"].detach(), outputs[0]["entropy"].detach())
        return loss

    def _record(self, inputs: dict[str, Any], logprobs: torch.Tensor, entropies: torch.Tensor) -> None:
        """Stores the values of a packed row of completions, with shape [1, tokens - 1]."""
        batch = self._batch
        assert batch is not None
        tokens: list[int] = inputs["input_ids"][0].tolist()
        trained: list[int] = inputs["completion_mask"][0].tolist()
        starts = [*(inputs["position_ids"][0] == 0).nonzero().flatten().tolist(), len(tokens)]
        for start, end in pairwise(starts):
            rows = self._places[tuple(tokens[start:end])]
            length = len(batch.completion_ids[rows[0]])
            # Entry t belongs to token t + 1. TRL leaves out the values of tokens that are not trained on.
            span = slice(end - length - 1, end - 1)
            known = torch.tensor(trained[end - length : end], dtype=torch.bool, device=logprobs.device)
            values = [part[0, span].masked_fill(~known, float("nan")) for part in (logprobs, entropies)]
            batch.forward.append((torch.tensor(rows), *(value.unsqueeze(0).expand(len(rows), -1) for value in values)))

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        """Like TRL's, but with the names that other trainers have for the same metrics."""
        metrics = self._metrics["train"]  # type: ignore[attr-defined]
        for name, usual in RENAMED.items():
            if name in metrics:
                metrics[usual] = metrics.pop(name)
        if not self._is_first_update(self.state.global_step):
            for name in ("sample/staleness_mean", "sample/staleness_max"):
                metrics.pop(name, None)
        metrics["num_tokens"] = [float(self.state.num_input_tokens_seen)]
        # Transformers counts epochs of endless data from the start of the process.
        self.state.epoch = self.state.global_step / self.state.max_steps
        super().log(logs, *args, **kwargs)  # type: ignore[misc]

    def _is_first_update(self, update: int) -> bool:
        """Returns whether an update is the first one on its batch."""
        return (update - 1) % updates_per_batch(self) == 0

    def step_report(self) -> dict[str, Any]:
        """Returns the rollouts and metrics of a batch along with its first update."""
        batch, report = self._batch, self._report
        self._batch = self._report = None
        if batch is None or report is None:
            return {}
        stage, context, update = self.lab_stage, self.lab, self.state.global_step
        own: dict[str, Any] = {"metrics": {**report, **batch.sampler_differences(), **context.score_metrics}}
        if kept_in_run(self, update):
            tokens = context.recipe["log"]["tokens"]
            block = batch.block(stage.first_step + update, stage.type, self.num_generations, tokens, self._pieces)
            own["rollouts"] = Written(f"[{block}]")
        return own

    def save_ahead(self, folder: Path, step: int) -> None:
        """Writes the batches that were sampled before update `step` of the stage and are trained on after it."""
        self.rollouts.ahead.save(folder, step // updates_per_batch(self))


RENAMED = {"kl": "sampling/mismatch_kl", "ratio": "sampling/importance_sampling_ratio/mean"}
"""TRL's metrics that compare the policy with the one that sampled, and their names elsewhere. Elsewhere, `kl` is the
divergence from the reference.
"""


def padded(values: list[list[float]]) -> torch.Tensor:
    """Returns [rows, tokens], with NaN after the end of a row."""
    width = max((len(row) for row in values), default=0)
    return torch.tensor([[*row, *[float("nan")] * (width - len(row))] for row in values], dtype=torch.float32)
