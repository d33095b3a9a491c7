"""Converts a recipe stage to the configuration for a TRL trainer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import torch
from accelerate import PartialState
from accelerate.utils import DistributedType

from ..course.versions import device_kind
from ..failure import Failure
from ..models.precision import precision_of
from .options import make_config, place_of, trainer_options

if TYPE_CHECKING:
    from ..course.context import Context
    from ..course.stage import Stage

C = TypeVar("C")


def training_arguments(context: Context, stage: Stage, config_class: type[C], **own: Any) -> C:
    """Combines the settings shared by all stages, this stage's `own` settings, and the recipe's `trainer` block, in
    increasing priority. Disables saving, evaluation and logging in TRL because the engine handles them.
    """
    settings = stage.settings
    pytorch = context.recipe.get("pytorch") or {}
    device = torch.device(device_kind())
    precision = precision_of(context.recipe, device)
    options: dict[str, Any] = {
        "output_dir": str(context.scratch),
        "max_steps": stage.steps,
        "learning_rate": settings["learning_rate"],
        "lr_scheduler_type": settings["lr_scheduler_type"],
        "warmup_steps": settings["warmup_steps"],
        "max_grad_norm": settings["max_grad_norm"],
        "weight_decay": settings["weight_decay"],
        "adam_beta1": settings["adam_beta1"],
        "adam_beta2": settings["adam_beta2"],
        "adam_epsilon": settings["adam_epsilon"],
        "seed": context.recipe["seed"],
        "bf16": precision == "bfloat16",
        "fp16": precision == "float16",
        "use_cpu": device.type == "cpu",
        "gradient_checkpointing": bool(pytorch.get("gradientCheckpointing")),
        "logging_steps": 1,
        "logging_strategy": "steps",
        # A non-finite loss is reported instead of being filtered out.
        "logging_nan_inf_filter": False,
        "save_strategy": "no",
        "eval_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
        "dataloader_pin_memory": device.type == "cuda",
        "restore_callback_states_from_checkpoint": False,
        **sharding(context),
        **own,
    }
    where = place_of(stage.index, settings)
    options.update(trainer_options(config_class, settings.get("trainer"), settings, where))
    return make_config(config_class, options, where)


def sharding(context: Context) -> dict[str, Any]:
    """Returns how processes share the model: a full replica each, or sharded (FSDP2, Zhao et al. 2023)."""
    if context.world.size == 1 or (context.recipe.get("pytorch") or {}).get("strategy") != "fsdp":
        return {}
    if PartialState().distributed_type == DistributedType.MULTI_CPU:
        # Without this check, accelerate would silently give each process a full replica.
        raise Failure(
            "unsupported",
            '"strategy": "fsdp" shards a model across GPUs, but training runs on the CPU.',
            'Set "strategy" in "pytorch" to "ddp".',
        )
    return {"fsdp": True, "fsdp_config": {"version": 2, "state_dict_type": "FULL_STATE_DICT"}}
