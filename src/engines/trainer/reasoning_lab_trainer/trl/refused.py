"""Rejects recipe features that the installed TRL does not support, and suggests alternatives."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.resources import files
from types import ModuleType
from typing import Any

from ..failure import Failure
from .options import place_of
from .version import trl_version

PLACES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "sft": (("trl", "SFTTrainer", "SFTConfig"),),
    "distill": (("trl", "SFTTrainer", "SFTConfig"),),
    "distill with a teacher": (("trl", "DistillationTrainer", "DistillationConfig"),),
    "minillm": (("trl.experimental.minillm", "MiniLLMTrainer", "MiniLLMConfig"),),
    "sdft": (("trl.experimental.sdft", "SDFTTrainer", "SDFTConfig"),),
    "sdpo": (("trl.experimental.sdpo", "SDPOTrainer", "SDPOConfig"),),
    "grpo": (("trl", "GRPOTrainer", "GRPOConfig"),),
    "max_staleness": (("trl.experimental.async_grpo", "AsyncGRPOTrainer", "AsyncGRPOConfig"),),
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

METHODS = frozenset({"distill with a teacher", "minillm", "sdft", "sdpo", "max_staleness"})
"""Keys of PLACES that are not stages, but ways to distill and to sample."""

OTHERS: dict[str, str] = {
    "value-model": "TRL does not train value models",
    "ppo": "TRL has not included PPO since 1.0",
}
"""Stages that have no TRL trainer."""


def trainer_of(stage: dict[str, Any]) -> str:
    """Returns the key in PLACES for a stage: its type, its distillation method, or how it samples."""
    if stage["type"] == "grpo" and stage.get("max_staleness"):
        return "max_staleness"
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


ASYNC_LIMITS: dict[str, Any] = json.loads((files(__package__) / "async_limits.json").read_text("utf-8"))
"""Stage keys that AsyncGRPOTrainer lacks, with the value that has no effect, and its options that are not used."""

ASYNC_MODULE = "trl.experimental.async_grpo.async_grpo_trainer"


def async_module() -> ModuleType:
    """Returns TRL's module with AsyncGRPOTrainer. Raises Failure `version` if it packs completions differently."""
    module = imported(ASYNC_MODULE)
    # TRL 1.16 replaced it, and shares the prompts of a group among its completions.
    if not hasattr(module, "patch_chunked_lm_head") or not hasattr(module, "RolloutSample"):
        raise Failure(
            "version",
            f'"max_staleness" requires AsyncGRPOTrainer as in TRL 1.13, but TRL {trl_version()} is installed.',
            'Install it (pip install "trl==1.13.*"), remove "max_staleness", or set "engine": "embedded".',
        )
    return module


def refuse_async(recipe: dict[str, Any], stage: dict[str, Any], where: str) -> None:
    """Raises Failure if the recipe cannot sample while it trains. The driver checks recipes, too."""
    async_module()

    def unsupported(what: str) -> Failure:
        return Failure(
            "unsupported",
            f'{where}: "max_staleness" cannot be combined with {what} in the PyTorch engine.',
            'Remove one of them, or set "engine": "embedded".',
        )

    for name, neutral in ASYNC_LIMITS["keys"].items():
        if stage.get(name, neutral) not in (neutral, None):
            raise unsupported(f'"{name}": {json.dumps(stage[name])}')
    for name in ASYNC_LIMITS["options"]:
        if name in (stage.get("trainer") or {}):
            raise unsupported(f'"{name}" of "trainer"')
    settings = recipe.get("pytorch") or {}
    for name in ("vllm", "lora"):
        if settings.get(name):
            raise unsupported(f'"{name}"')
    if int(settings.get("processes") or 1) > 1 or int((recipe.get("ray") or {}).get("workers") or 1) > 1:
        raise unsupported("more than one process")
    if recipe.get("environment") is not None:
        raise unsupported("an environment")
    if (recipe.get("dataset") or {}).get("image") is not None:
        raise unsupported("images")


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
    if trainer_of(stage) == "max_staleness":
        refuse_async(recipe, stage, where)
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
