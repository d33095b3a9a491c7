"""Checks whether a model can fit in memory at all before its weights are loaded."""

from __future__ import annotations

import os
from typing import Any

import torch
from transformers import AutoModelForCausalLM, PreTrainedConfig

from ..failure import Failure
from .vision import auto_class

GIB = 2**30


def parameters_of(config: PreTrainedConfig, kind: Any = AutoModelForCausalLM) -> int:
    """Returns the number of parameters for a configuration without allocating tensors. `kind`: the class that opens
    the model.
    """
    with torch.device("meta"):
        model = kind.from_config(config, trust_remote_code=False)
    return sum(parameter.numel() for parameter in model.parameters())


def min_bytes(parameters: int, recipe: dict[str, Any]) -> int:
    """Returns the minimum memory for weights, gradients and AdamW moments: 16 bytes per parameter in f32, or only the
    frozen weights when training adapters. Does not include activations.
    """
    lora = (recipe.get("pytorch") or {}).get("lora")
    if lora is None:
        return parameters * 16
    return int(parameters * {"none": 2.0, "8bit": 1.0, "4bit": 0.5}[lora.get("quantize", "none")])


def total_bytes(device: torch.device) -> int | None:
    """Returns the device's total memory, or None if unknown."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory
    if device.type == "cpu" and hasattr(os, "sysconf"):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def check_memory(config: PreTrainedConfig, recipe: dict[str, Any], device: torch.device, what: str) -> None:
    """Raises `full` if weights and optimizer alone would exceed device memory."""
    total = total_bytes(device)
    if total is None:
        return
    settings = recipe.get("pytorch") or {}
    parameters = parameters_of(config, auto_class(recipe))
    shared = int(os.environ.get("WORLD_SIZE", "1")) if settings.get("strategy") == "fsdp" else 1
    needed = min_bytes(parameters, recipe) // shared
    if needed <= total:
        return
    lora = settings.get("lora")
    advice = (
        'Train adapters ("lora" in "pytorch"), shard the model ("strategy": "fsdp"), or use a smaller model.'
        if lora is None
        else 'Set "quantize" in "lora" to "4bit", or use a smaller model.'
    )
    parts = "weights, gradients and optimizer" if lora is None else "frozen weights"
    raise Failure(
        "full",
        f"Model {what} has {parameters / 1e9:.2f} billion parameters. Its {parts} alone require"
        f" {needed / GIB:.1f} GiB, but {device.type} has {total / GIB:.1f} GiB.",
        advice,
    )
