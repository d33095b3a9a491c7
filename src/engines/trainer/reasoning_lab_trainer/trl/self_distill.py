"""Self-distillation: the teacher is the policy itself with a longer prompt. With `sdft`, it includes a column of the
problem (Shenfeld et al. 2026, arXiv:2601.19897); with `sdpo`, a correct completion of the same group
(Huebotter et al. 2026, arXiv:2601.20802). Trains with TRL's SDFTTrainer and SDPOTrainer.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from datasets import Dataset

from ..course.train_stage import train
from ..failure import Failure
from .arguments import training_arguments
from .options import place_of
from .references import reference_made_for, saved_reference
from .refused import find_trainer, trainer_of
from .rewards import RewardColumns, text_of_prompt
from .row_tokens import encoded
from .rows_stage import MAX_ROWS, batch_options, measured
from .sampling_stage import vllm_options

if TYPE_CHECKING:
    from ..course.context import Context
    from ..course.stage import Stage
    from ..link.messages import Problem

TOP_K = 100
"""TRL's default number of tokens that SDFT compares. A vocabulary can have fewer."""


class SelfDistilling:
    """Mixin for SDFTTrainer or SDPOTrainer. Must come before the trainer class."""

    _total_train_tokens = 0
    """Total tokens in student prompts and completions. Named like TRL's counter, so that checkpoints include it."""

    @property
    def ref_model(self) -> Any:
        """The teacher, for checkpoints; None if it is the policy itself, possibly without its adapters."""
        teacher = self.teacher_model  # type: ignore[attr-defined]
        return None if teacher is self.model else teacher  # type: ignore[attr-defined]

    def _prepare_training_batch(self, inputs: list[dict[str, Any]]) -> Any:
        with self.lab.stopwatch.phase("generate"):  # type: ignore[attr-defined]
            batch = super()._prepare_training_batch(inputs)  # type: ignore[misc]
        tokens = batch["prompt_mask"].sum() + batch["completion_mask"].sum()
        everywhere = self.accelerator.gather(tokens).sum().item()  # type: ignore[attr-defined]
        self._total_train_tokens += int(everywhere)
        return batch

    def _tokenize_prompts(self, prompts: list[Any]) -> Any:
        return self._readable(prompts, super()._tokenize_prompts)  # type: ignore[misc]

    def _tokenize_prompts_untruncated(self, prompts: list[Any]) -> Any:
        return self._readable(prompts, super()._tokenize_prompts_untruncated)  # type: ignore[misc]

    def _readable(self, prompts: list[Any], tokenize: Any) -> Any:
        """Like TRL's method, but reports prompts that cannot be tokenized or that leave no room for a completion."""
        policy = self.lab.policy  # type: ignore[attr-defined]
        try:
            tokenized = tokenize(prompts)
        except Exception:
            encoded(policy, [text_of_prompt(policy.tokenizer, prompt) for prompt in prompts], "Prompts")
            raise
        lengths = [len(ids) for ids in tokenized]
        longest = max(lengths)
        if longest + self.max_completion_length > policy.context:  # type: ignore[attr-defined]
            prompt = text_of_prompt(policy.tokenizer, prompts[lengths.index(longest)])
            raise Failure(
                "invalid",
                f"The prompt {prompt[:80]!r} has {longest} tokens, which leave no room for "
                f"{self.max_completion_length} completion tokens in the {policy.context}-token context. "  # type: ignore[attr-defined]
                "The teacher's prompts are longer than the student's.",
                "Lower max_completion_length, shorten the teacher's prompt, or use a model with a longer context.",
            )
        return tokenized

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        metrics = self._metrics["train"]  # type: ignore[attr-defined]
        for name in [name for name in metrics if name.startswith(("sdft/", "sdpo/"))]:
            # The same values as self_distillation/distillation_loss.
            del metrics[name]
        rename(metrics, "self_distillation/reward_mean", "reward")
        for name in [name for name in metrics if name.startswith("self_distillation/rewards/")]:
            rename(metrics, name, f"{name.removeprefix('self_distillation/')}/mean")
        super().log({**logs, "num_tokens": self._total_train_tokens}, *args, **kwargs)  # type: ignore[misc]


def rename(metrics: dict[str, Any], name: str, new: str) -> None:
    """Renames a metric to match other stages."""
    if name in metrics:
        metrics[new] = metrics.pop(name)


@functools.cache
def self_distilling(base: type) -> type:
    """Returns TRL's trainer with this mixin."""
    return type(f"SelfDistilling{base.__name__}", (SelfDistilling, base), {})


def run_stage(context: Context, stage: Stage) -> None:
    """Trains on completions that the student samples for problems from the stream."""
    settings = stage.settings
    method = settings["method"]
    where = place_of(stage.index, settings)
    if settings.get("teacher_model_kind") == "ema" and context.policy.adapted:
        raise Failure(
            "unsupported",
            f'{where}: with "lora", the moving average of the adapters cannot be resumed.',
            'Set "teacher_model_kind" to "base" or "live", or remove "lora".',
        )
    trainer_class, config_class = find_trainer(trainer_of(settings))
    groups = int(settings.get("num_generations", 8)) if method == "sdpo" else 1
    columns = RewardColumns(context, stage.first_step) if method == "sdpo" else None
    if columns is not None and not columns.functions:
        raise Failure("invalid", f'{where}: "sdpo" requires at least one reward.', 'Add one to "rewards".')
    own = {
        **batch_options(context, stage),
        **vllm_options(context),
        "num_generations": groups,
        "temperature": settings["temperature"],
        "max_completion_length": settings["max_completion_length"],
        "max_prompt_length": None,
        # Problems are already in training order.
        "shuffle_dataset": False,
        **teacher_options(context, settings),
    }
    if columns is not None:
        own["reward_weights"] = columns.weights
    arguments = training_arguments(context, stage, config_class, **own)
    per_batch = int(settings["batch_size"]) // groups
    problems = context.problems.training(stage.first_problem, min(stage.steps * per_batch, MAX_ROWS))
    with reference_made_for(context, saved_reference(context, stage), trainer_class.__module__):
        trainer = measured(self_distilling(trainer_class))(
            model=context.policy.model,
            args=arguments,
            train_dataset=Dataset.from_list([example(context, settings, where, problem) for problem in problems]),
            processing_class=context.policy.tokenizer,
            **({} if columns is None else {"reward_funcs": columns.functions}),
        )
    trainer.problems_per_batch = per_batch
    train(context, stage, trainer)


def teacher_options(context: Context, settings: dict[str, Any]) -> dict[str, Any]:
    """Returns TRL's settings for the teacher."""
    kind = settings.get("teacher_model_kind")
    options: dict[str, Any] = {} if kind is None else {"teacher_model_kind": kind}
    if settings["method"] == "sdft":
        options["distillation_topk"] = min(TOP_K, len(context.policy.tokenizer))
    return options


def example(context: Context, settings: dict[str, Any], where: str, problem: Problem) -> dict[str, Any]:
    """Converts a problem to a row for TRL."""
    row: dict[str, Any] = {"prompt": context.policy.template.ask(problem["prompt"])}
    if settings["method"] == "sdpo":
        return {**row, "answer": problem["answer"], "row": problem["row"]}
    column = settings.get("privileged_context", "solution")
    context_of = problem["row"].get(column)
    if context_of is None and column in ("solution", "answer"):
        context_of = problem[column]
    if context_of is None:
        raise Failure(
            "invalid",
            f'{where}: the problem {problem["prompt"][:80]!r} has no "{column}" for the teacher to read.',
            'Set "privileged_context" to a column that every row has.',
        )
    return {**row, "privileged_context": str(context_of)}
