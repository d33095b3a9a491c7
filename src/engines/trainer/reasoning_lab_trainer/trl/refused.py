"""Rejects recipe features that the installed TRL does not support, and suggests alternatives."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from ..failure import Failure
from .options import place_of

PLACES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "sft": (("trl", "SFTTrainer", "SFTConfig"),),
    "distill": (("trl", "SFTTrainer", "SFTConfig"),),
    "distill with a teacher": (("trl", "DistillationTrainer", "DistillationConfig"),),
    "minillm": (("trl.experimental.minillm", "MiniLLMTrainer", "MiniLLMConfig"),),
    "sdft": (("trl.experimental.sdft", "SDFTTrainer", "SDFTConfig"),),
    "sdpo": (("trl.experimental.sdpo", "SDPOTrainer", "SDPOConfig"),),
    "grpo": (("trl", "GRPOTrainer", "GRPOConfig"),),
    "rloo": (("trl", "RLOOTrainer", "RLOOConfig"),),
    "dpo": (("trl", "DPOTrainer", "DPOConfig"),),
    "reward-model": (("trl", "RewardTrainer", "RewardConfig"),),
    # Part of TRL up to 0.2x, experimental since then. It may move back.
    "process-reward-model": (
        ("trl", "PRMTrainer", "PRMConfig"),
        ("trl.experimental.prm", "PRMTrainer", "PRMConfig"),
    ),
}
"""Possible import locations of each stage's trainer and configuration. The first one that exists is used."""

METHODS = frozenset({"distill with a teacher", "minillm", "sdft", "sdpo"})
"""Keys of PLACES that are not stages, but ways to distill."""

OTHERS: dict[str, str] = {
    "value-model": "TRL does not train value models",
    "ppo": "TRL has not included PPO since 1.0",
}
"""Stages that have no TRL trainer."""


def trainer_of(stage: dict[str, Any]) -> str:
    """Returns the key in PLACES for a stage: its type or, for `distill`, its distillation method."""
    if stage["type"] != "distill":
        return stage["type"]
    return stage.get("method") or ("distill" if stage.get("teacher") is None else "distill with a teacher")


def find_trainer(stage: str) -> tuple[type, type]:
    """Returns the trainer and configuration classes for a key of PLACES. Raises `unsupported`."""
    import trl

    if stage in OTHERS:
        raise Failure(
            "unsupported",
            f'The pytorch engine does not support the "{stage}" stage: {OTHERS[stage]}.',
            'Set "engine": "embedded", which supports value models and process rewards, or use a grpo or rloo stage.',
        )
    for module, trainer, config in PLACES.get(stage, ()):
        found = imported(module)
        if hasattr(found, trainer) and hasattr(found, config):
            return getattr(found, trainer), getattr(found, config)
    if stage not in PLACES:
        raise Failure(
            "unsupported",
            f'The pytorch engine does not support the "{stage}" stage.',
            f"Supported stages: {', '.join(sorted(PLACES.keys() - METHODS))}.",
        )
    embedded = (
        ', set "engine": "embedded", which supports it,' if stage in ("sft", "grpo", "process-reward-model") else ""
    )
    raise Failure(
        "unsupported",
        f"The installed TRL {trl.__version__} has no trainer for "
        + (f'"{stage}".' if stage in METHODS else f'the "{stage}" stage.'),
        f'Install a different version (pip install "trl==1.13.*"){embedded} or remove the stage.',
    )


def imported(module: str) -> ModuleType | None:
    try:
        return import_module(module)
    except ImportError:
        return None


def refuse(recipe: dict[str, Any], index: int) -> None:
    """Raises `unsupported` or `invalid` for a stage that cannot run. Also checks that TRL has its trainer."""
    stage: dict[str, Any] = recipe["stages"][index]
    kind = stage["type"]
    where = place_of(index, stage)
    find_trainer(trainer_of(stage))
    if kind == "process-reward-model" and not stage.get("labels"):
        raise Failure(
            "unsupported",
            f"{where}: TRL can only train process rewards on labeled steps.",
            'Add "labels", or set "engine": "embedded", which labels steps by sampling completions from the policy.',
        )
    if stage.get("dynamic_sampling"):
        raise Failure(
            "unsupported",
            f'{where}: TRL does not support "dynamic_sampling".',
            'Remove it, or set "engine": "embedded", which supports it.',
        )
    settings = recipe.get("pytorch") or {}
    new = "path" not in recipe["model"]
    if new and settings.get("vllm"):
        raise Failure(
            "unsupported",
            "vLLM does not support the architecture used for new models.",
            'Remove "vllm" from "pytorch", or set "path" to an existing model.',
        )
    if new and settings.get("lora"):
        raise Failure(
            "invalid",
            'Adapters ("lora") require a trained model, but the recipe creates a new one.',
            'Remove "lora" from "pytorch", or set "path" to an existing model.',
        )
