"""Runs stages whose trainer samples and scores its own batches."""

from __future__ import annotations

from dataclasses import fields
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..course.train_stage import train
from ..failure import Failure
from .arguments import training_arguments
from .environments import environment_options, open_environment
from .options import settings_by_name
from .references import reference_made_for, restore_adapters, saved_reference
from .rewards import RewardColumns
from .sampling import place_dataset

if TYPE_CHECKING:
    from ..course.context import Context
    from ..course.stage import Stage


def run_sampling_stage(context: Context, stage: Stage, trainer_class: Any, config_class: Any, **own: Any) -> None:
    """Creates the trainer and trains. `own`: options that differ from the stage's settings."""
    columns = RewardColumns(context, stage.first_step)
    environment = open_environment(context)
    if not columns.functions:
        raise Failure("invalid", f'The "{stage.type}" stage requires at least one reward.', 'Add one to "rewards".')
    options = {**sampling_options(context, stage, config_class), **own}
    arguments = training_arguments(context, stage, config_class, **options, reward_weights=columns.weights)
    prompts = stage.settings["prompts_per_step"]
    updates = stage.settings["num_iterations"] * stage.settings["steps_per_generation"]
    batches = -(-stage.steps // updates)
    saved = saved_reference(context, stage)
    with reference_made_for(context, saved, module_of(trainer_class)):
        trainer = trainer_class(
            model=context.policy.model,
            reward_funcs=columns.functions,
            args=arguments,
            train_dataset=place_dataset(stage.first_problem, batches * prompts),
            processing_class=context.policy.processing,
            **({} if environment is None else {"environment_factory": environment}),
        )
    trainer.begin_sampling(context, stage, columns)
    restore_adapters(context, saved)
    try:
        train(context, stage, trainer)
    finally:
        context.policy.forget_reference()


def module_of(trainer_class: type) -> str:
    """Returns the TRL module whose trainer creates the reference model."""
    return next(base.__module__ for base in trainer_class.__mro__ if base.__module__.startswith("trl.trainer."))


def sampling_options(context: Context, stage: Stage, config_class: type) -> dict[str, Any]:
    """
    Converts the stage to TRL settings. Recipe keys use TRL's names and meanings, except for the number of parts in a
    generation batch: TRL counts forward passes, while the recipe counts updates.
    """
    micro, accumulated = batch_parts(context, stage)
    return {
        **settings_by_name(config_class, stage.settings),
        "per_device_train_batch_size": micro,
        "gradient_accumulation_steps": accumulated,
        "steps_per_generation": stage.settings["steps_per_generation"] * accumulated,
        # Problems are already in training order.
        "shuffle_dataset": False,
        **picture_options(context, config_class),
        **vllm_options(context),
        **environment_options(context),
    }


def batch_parts(context: Context, stage: Stage) -> tuple[int, int]:
    """Returns the rows per forward pass of each process, and the forward passes per update. Raises `invalid`."""
    settings = stage.settings
    rows = settings["prompts_per_step"] * settings["num_generations"]
    per_update, rest = divmod(rows, settings["steps_per_generation"] * context.world.size)
    if rest:
        raise Failure(
            "invalid",
            f'Stage {stage.index + 1} ("{stage.type}") samples {rows} completions, which cannot be divided '
            "evenly among "
            f"{settings['steps_per_generation']} update(s) and {context.world.size} process(es).",
            "Adjust prompts_per_step so that the completions can be divided evenly.",
        )
    asked = (context.recipe.get("pytorch") or {}).get("microBatch") or per_update
    micro = next(size for size in range(min(asked, per_update), 0, -1) if per_update % size == 0)
    return micro, per_update // micro


def picture_options(context: Context, config_class: type) -> dict[str, Any]:
    """Returns TRL's settings for pictures. TRL need not log them, because the engine does."""
    keeps = any(field.name == "log_multimodal" for field in fields(config_class))
    return {"log_multimodal": False} if context.pictures is not None and keeps else {}


def vllm_options(context: Context) -> dict[str, Any]:
    """Returns TRL's vLLM generation settings. Raises Failure `unavailable` if the package is missing."""
    vllm = (context.recipe.get("pytorch") or {}).get("vllm")
    if vllm is None:
        return {}
    if find_spec("vllm") is None:
        raise Failure(
            "unavailable",
            "The recipe uses vLLM for generation, but vLLM is not installed in this Python environment.",
            'Install it in the engine environment (pip install "trl[vllm]"), or remove "vllm" from '
            '"pytorch" in the recipe.',
        )
    options: dict[str, Any] = {"use_vllm": True, "vllm_mode": vllm["mode"]}
    if vllm["mode"] == "server":
        if vllm["server"]:
            options["vllm_server_base_url"] = vllm["server"]
    else:
        options["vllm_gpu_memory_utilization"] = vllm["memory"]
        options["vllm_tensor_parallel_size"] = vllm["tensorParallel"]
        options["vllm_max_model_length"] = context.policy.context if context.policy.context < 1_000_000 else None
    return options
