"""Dispatches stages to their functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import distill, dpo, grpo, prm, reward, rloo, sft
from .options import place_of, trainer_options
from .refused import find_trainer, refuse, trainer_of

if TYPE_CHECKING:
    from ..course.context import Context
    from ..course.stage import Stage

RUNNERS: dict[str, Callable[..., None]] = {
    "sft": sft.run_stage,
    "grpo": grpo.run_stage,
    "rloo": rloo.run_stage,
    "dpo": dpo.run_stage,
    "reward-model": reward.run_stage,
    "process-reward-model": prm.run_stage,
    "distill": distill.run_stage,
}


def run_stage(context: Context, stage: Stage) -> None:
    """Trains until the stage ends."""
    RUNNERS[stage.type](context, stage)


def check_stages(recipe: dict[str, Any]) -> None:
    """Finds every stage's trainer in the installed TRL and validates the `trainer` blocks before any other work. Raises
    `unsupported` and `invalid`.
    """
    for index, stage in enumerate(recipe["stages"]):
        refuse(recipe, index)
        _, config_class = find_trainer(trainer_of(stage))
        trainer_options(config_class, stage.get("trainer"), stage, place_of(index, stage))
