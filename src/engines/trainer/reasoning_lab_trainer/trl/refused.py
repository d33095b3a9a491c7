"""What the installed TRL cannot do of a recipe, each with who can."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from ..failure import Failure
from .options import place_of

PLACES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "sft": (("trl", "SFTTrainer", "SFTConfig"),),
    "distill": (("trl", "SFTTrainer", "SFTConfig"),),
    "grpo": (("trl", "GRPOTrainer", "GRPOConfig"),),
    "rloo": (("trl", "RLOOTrainer", "RLOOConfig"),),
    "dpo": (("trl", "DPOTrainer", "DPOConfig"),),
    "reward-model": (("trl", "RewardTrainer", "RewardConfig"),),
    # In TRL itself up to 0.2x, experimental since: it may come back.
    "process-reward-model": (
        ("trl", "PRMTrainer", "PRMConfig"),
        ("trl.experimental.prm", "PRMTrainer", "PRMConfig"),
    ),
}
"""Where trainer and configuration of each stage may lie, the first that is there counts."""

OTHERS: dict[str, str] = {
    "value-model": "TRL trains no value model",
    "ppo": "TRL has no PPO since 1.0",
}
"""Stages that no TRL trainer stands for."""


def find_trainer(stage: str) -> tuple[type, type]:
    """Trainer and configuration of a stage in the TRL that is installed. Raises `unsupported`."""
    import trl

    if stage in OTHERS:
        raise Failure(
            "unsupported",
            f'The pytorch engine has no stage "{stage}": {OTHERS[stage]}.',
            'Set "engine": "embedded", which has value models and process rewards, or take the stage grpo or rloo.',
        )
    for module, trainer, config in PLACES.get(stage, ()):
        found = imported(module)
        if hasattr(found, trainer) and hasattr(found, config):
            return getattr(found, trainer), getattr(found, config)
    if stage not in PLACES:
        raise Failure(
            "unsupported", f'The pytorch engine has no stage "{stage}".', f"It has {', '.join(sorted(PLACES))}."
        )
    embedded = ' or set "engine": "embedded", which has it,' if stage in ("sft", "grpo", "process-reward-model") else ""
    raise Failure(
        "unsupported",
        f'TRL {trl.__version__}, which is installed, has no trainer for the stage "{stage}".',
        f'Install another one (pip install "trl==1.13.*"){embedded} or remove the stage.',
    )


def imported(module: str) -> ModuleType | None:
    try:
        return import_module(module)
    except ImportError:
        return None


def refuse(recipe: dict[str, Any], index: int) -> None:
    """Raises `unsupported` or `invalid` for a stage that cannot be run as it stands; finds its trainer in TRL."""
    stage: dict[str, Any] = recipe["stages"][index]
    kind = stage["type"]
    where = place_of(index, stage)
    find_trainer(kind)
    if kind == "process-reward-model" and not stage.get("labels"):
        raise Failure(
            "unsupported",
            f"{where}: TRL learns process rewards from labelled steps alone.",
            'Add "labels", or set "engine": "embedded", which labels steps by completions of the policy.',
        )
    if stage.get("dynamic_sampling"):
        raise Failure(
            "unsupported",
            f'{where}: TRL has no "dynamic_sampling".',
            'Remove it, or set "engine": "embedded", which has it.',
        )
    settings = recipe.get("pytorch") or {}
    new = "path" not in recipe["model"]
    if new and settings.get("vllm"):
        raise Failure(
            "unsupported",
            "vLLM does not know the architecture of a new model.",
            'Remove "vllm" of "pytorch", or name a model by "path".',
        )
    if new and settings.get("lora"):
        raise Failure(
            "invalid",
            'Adapters ("lora") add to what a trained model knows; a new model knows nothing.',
            'Remove "lora" of "pytorch", or name a model by "path".',
        )
