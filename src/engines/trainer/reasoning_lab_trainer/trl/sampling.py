"""Captures data in TRL's sampling trainers (GRPO, RLOO) that callbacks do not receive: the full generation batch with
groups, rewards and advantages, and the log-probabilities and entropies from the forward passes.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from datasets import Dataset

from ..course.callback import updates_per_batch
from ..course.fence import random_state, set_random_state
from ..course.stage import RunStopped, StageEnded
from ..data.picture_copies import PictureCopies
from ..failure import Failure
from ..link.framing import Written
from .batch_metrics import reward_metrics
from .environments import EpisodesFailed
from .episodes import episode_metrics, recorded_episodes
from .gated import Gated
from .pieces import Pieces
from .rewards import RewardColumns, text_of_prompt
from .rollouts import GenerationBatch
from .row_tokens import encoded

if TYPE_CHECKING:
    from ..course.context import Context
    from ..course.stage import Stage
    from ..models.policy import Policy

ROWS = "lab_rows"
"""Key of an extra batch tensor that holds row indices. TRL shuffles and splits it along with the others."""


class Sampling(Gated):
    """Mixin for GRPOTrainer or RLOOTrainer. Must come before the trainer class. Performs no additional computation."""

    def begin_sampling(self, context: Context, stage: Stage, columns: RewardColumns) -> None:
        """Called once, after the trainer is created."""
        self.lab = context
        self.lab_stage = stage
        self.columns = columns
        self.problems_per_batch: int = self.args.generation_batch_size // self.num_generations
        self._pieces = Pieces(context.policy.tokenizer)
        self._picture_copies = PictureCopies()
        self._batch: GenerationBatch | None = None
        self._told_ahead = False
        self._report: dict[str, float | None] | None = None
        self._throughput: dict[str, float] = {}
        self._rows: torch.Tensor | None = None
        self._generating = False
        self._forwards: list[torch.Tensor] = []
        self._asked: list[Any] = []
        self._masks: list[list[int]] | None = None
        vllm = getattr(self, "vllm_generation", None)
        if vllm is not None:
            vllm.sync_weights = self._timed("weights", vllm.sync_weights)

    def _timed(self, phase: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            with self.lab.stopwatch.phase(phase):
                return function(*args, **kwargs)

        return timed

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        posed = self._posed(inputs)
        if self.lab.recipe.get("environment") is None:
            return self._sampled_batch(posed)
        while True:
            before = BeforeBatch(self)
            try:
                return self._sampled_batch(posed)
            except EpisodesFailed as failed:
                report = failed.report
            # The driver replies once the user continues; until then, the run stays as it was before the batch.
            before.restore()
            verdict = self.lab.gate.pass_through("environment/failed", report)
            if verdict.decision != "continue":
                raise RunStopped if verdict.decision == "stop" else StageEnded

    def _sampled_batch(self, posed: list[dict[str, Any]]) -> dict[str, Any]:
        self._forwards = []
        self._masks = None
        self._generating = True
        try:
            output = super()._generate_and_score_completions(posed)
        finally:
            self._generating = False
        columns, forwards = self.columns, self._forwards
        # Forward passes in order: the policy before the batch (if needed), then the reference.
        reference = forwards.pop() if self.beta != 0.0 and forwards else None
        self._batch = GenerationBatch(
            inputs=posed,
            first_row=self.accelerator.process_index * len(posed),
            completions=columns.completions,
            completion_ids=columns.completion_ids,
            scored=columns.scored,
            advantages=output["advantages"],
            sampling=output.get("sampling_per_token_logps"),
            old=forwards.pop() if forwards else None,
            reference=reference,
        )
        environments = getattr(self, "environments", None)
        if environments:
            self._batch.prompts = self._asked
            self._batch.masks = self._masks
            self._batch.episodes = self.recorded_episodes()
        self._told_ahead = False
        output[ROWS] = torch.arange(len(posed), device=output["advantages"].device)
        return output

    def recorded_episodes(self) -> list[dict[str, Any]]:
        """Returns the episodes of the latest batch, in TRL's order."""
        return recorded_episodes(
            [environment._played for environment in self.environments],
            self.columns.completions,
            self.columns.completion_ids,
            self._pieces.ends,
            self.max_tool_calling_iterations,
        )

    def _posed(self, inputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Returns the problems for a generation batch. The dataset contains only their positions."""
        context, first = self.lab, self.lab_stage.first_problem
        places = [int(row["problem"]) for row in inputs]
        # Start of the whole batch. All processes request the same problems.
        start = first + (places[0] - first) // self.problems_per_batch * self.problems_per_batch
        problems = context.problems.training(start, self.problems_per_batch)
        posed = pose(context, [problems[place - start] for place in places])
        if context.pictures is not None:
            # The rows of a group share one picture.
            decoded = {place: context.pictures.of_problem(problems[place - start]) for place in set(places)}
            for row, place in zip(posed, places, strict=True):
                row["images"] = [decoded[place]]
        return posed

    def _generate(self, prompts: list[Any]) -> Any:
        since = time.perf_counter()
        self._asked = prompts
        with self.lab.stopwatch.phase("generate"):
            generated = super()._generate(prompts)
        seconds = max(time.perf_counter() - since, 1e-9)
        rows = len(prompts) * self.accelerator.num_processes
        length = self._metrics["train"]["completions/mean_length"][-1]
        self._throughput = {"throughput/completions": rows / seconds, "throughput/tokens": rows * length / seconds}
        return generated

    def _tool_call_loop(self, *args: Any) -> Any:
        result = super()._tool_call_loop(*args)
        self._masks = result[0]
        return result

    def _tokenize_prompts(self, prompts: list[Any]) -> Any:
        """Same as in TRL, but reports prompts that cannot be tokenized or that leave no room for a completion."""
        policy = self.lab.policy
        try:
            tokenized = super()._tokenize_prompts(prompts)
        except Exception:
            encoded(policy, [text_of_prompt(policy.processing, prompt) for prompt in prompts], "Prompts")
            raise
        check_fits(policy, prompts, tokenized[0], self.max_completion_length)
        return tokenized

    def _calculate_rewards(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        with self.lab.stopwatch.phase("reward"):
            rewards = super()._calculate_rewards(*args, **kwargs)
        self._report = reward_metrics(rewards, self.reward_weights, self.num_generations)
        return rewards

    def compute_loss(self, model: Any, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        self._rows = inputs.get(ROWS)
        return super().compute_loss(model, inputs, *args, **kwargs)

    def _get_per_token_logps_and_entropies(self, *args: Any, **kwargs: Any) -> Any:
        if self._generating:
            with self.lab.stopwatch.phase("logprobs"):
                result = super()._get_per_token_logps_and_entropies(*args, **kwargs)
            self._forwards.append(result[0])
            return result
        result = super()._get_per_token_logps_and_entropies(*args, **kwargs)
        logprobs, entropies = result[0], result[1]
        if self._batch is not None and self._rows is not None and entropies is not None:
            self._batch.forward.append((self._rows, logprobs.detach(), entropies.detach()))
            self._tell_ahead()
        return result

    def _tell_ahead(self) -> None:
        """Sends the rollouts to the driver as soon as the first update's values are known, so that the driver can
        process them while gradients are being computed. Does nothing if there are several processes, or if the values
        are on a GPU, where reading them would require a synchronization.
        """
        batch, update = self._batch, self.state.global_step + 1
        link = self.lab.link
        if (
            batch is None
            or link is None
            or self._told_ahead
            or self.lab.world.size > 1
            or not kept_in_run(self, update)
        ):
            return
        rows = self.args.per_device_train_batch_size * self.args.gradient_accumulation_steps
        if batch.on_cpu and sum(len(places) for places, _, _ in batch.forward) >= rows:
            step = self.lab_stage.first_step + update
            link.tell("rollouts", {"step": step, "rollouts": Written(f"[{self._block(batch, update)}]")})
            self._told_ahead = True

    def _block(self, batch: GenerationBatch, update: int) -> str:
        stage = self.lab_stage
        tokens = self.lab.recipe["log"]["tokens"]
        if self.lab.pictures is not None:
            pictures = [row["images"][0] for row in batch.inputs]
            batch.pictures, batch.picture_files = self._picture_copies.of(pictures)
        return batch.block(stage.first_step + update, stage.type, self.num_generations, tokens, self._pieces)

    def step_report(self) -> dict[str, Any]:
        """Returns the rollouts and metrics of a generation batch along with its first update. Called on every rank."""
        batch, report = self._batch, self._report
        self._batch = self._report = None
        if batch is None or report is None:
            return {}
        context = self.lab
        own: dict[str, Any] = {"metrics": {**report, **self._throughput, **context.score_metrics}}
        if batch.episodes is not None:
            episodes = [episode for of_rank in context.world.gather(batch.episodes) for episode in of_rank]
            own["metrics"].update(episode_metrics(episodes) if episodes else {})
        update = self.state.global_step
        if kept_in_run(self, update) and not self._told_ahead:
            blocks = context.world.gather(self._block(batch, update))
            if blocks:
                own["rollouts"] = Written(f"[{','.join(blocks)}]")
        return own


def pose(context: Context, problems: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the problems as they are asked: `prompt`, `answer` and `row`."""
    ask = context.policy.template.ask
    return [
        {"prompt": ask(problem["prompt"]), "answer": problem["answer"], "row": problem["row"]} for problem in problems
    ]


def kept_in_run(trainer: Any, update: int) -> bool:
    """Returns whether the rollouts in the generation batch used by `update` are logged."""
    return (update - 1) // updates_per_batch(trainer) % trainer.lab.recipe["log"]["rolloutsEvery"] == 0


def check_fits(policy: Policy, prompts: list[Any], ids: list[list[int]], max_completion: int) -> None:
    """Raises Failure `invalid` if a prompt leaves no room for a completion. `ids`: tokens of each prompt."""
    lengths = [len(tokens) for tokens in ids]
    longest = max(lengths)
    if longest + max_completion > policy.context:
        prompt = text_of_prompt(policy.processing, prompts[lengths.index(longest)])
        raise Failure(
            "invalid",
            f"The prompt {prompt[:80]!r} has {longest} tokens. Together with {max_completion} "
            f"completion tokens, this exceeds the {policy.context}-token context window of {policy.name}.",
            "Lower max_completion_length, remove long problems, or use a model with a longer context.",
        )


class BeforeBatch:
    """The trainer state that sampling a batch changes, saved so that the same batch can be sampled again."""

    def __init__(self, trainer: Any) -> None:
        self._trainer = trainer
        self._random = random_state()
        self._metrics = copy.deepcopy(trainer._metrics)
        self._tokens = trainer.state.num_input_tokens_seen

    def restore(self) -> None:
        set_random_state(self._random)
        self._trainer._metrics = self._metrics
        self._trainer.state.num_input_tokens_seen = self._tokens


def place_dataset(first: int, count: int) -> Dataset:
    """Creates a dataset of training problem positions, in order. TRL repeats each position for its group."""
    return Dataset.from_dict({"problem": list(range(first, first + count))})
