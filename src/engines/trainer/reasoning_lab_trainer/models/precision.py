"""Selects dtypes for storage and computation, and the attention implementation."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Literal

import torch

from ..failure import Failure

Precision = Literal["float32", "bfloat16", "float16"]


def precision_of(recipe: dict[str, Any], device: torch.device) -> Precision:
    """Returns the training precision. As in TRL, trained weights are stored in f32 (autocast computes in the lower
    precision), while frozen weights (with adapters) are stored in that precision. Raises `unsupported` if the device
    does not support the precision.
    """
    asked: Precision | None = (recipe.get("pytorch") or {}).get("precision")
    if asked is None:
        return "bfloat16" if device.type == "cuda" and torch.cuda.is_bf16_supported() else "float32"
    if asked == "float16" and device.type != "cuda":
        raise Failure(
            "unsupported", f"Precision float16 requires a CUDA GPU, not {device.type}.", 'Set "precision" to "float32".'
        )
    if asked == "bfloat16" and device.type == "cuda" and not torch.cuda.is_bf16_supported():
        raise Failure(
            "unsupported",
            f"{torch.cuda.get_device_name(device)} does not support bfloat16.",
            'Set "precision" in "pytorch" to "float16" or "float32".',
        )
    return asked


def weights_dtype(recipe: dict[str, Any], precision: Precision) -> torch.dtype:
    """Returns the dtype that weights are loaded in."""
    return getattr(torch, precision) if (recipe.get("pytorch") or {}).get("lora") else torch.float32


def attention_of(recipe: dict[str, Any], device: torch.device, precision: Precision) -> str:
    """Returns the Hugging Face name of the attention implementation. `auto` selects flash attention if it works, or
    else PyTorch's built-in attention (sdpa). Raises `unsupported`.
    """
    asked: str = (recipe.get("pytorch") or {}).get("attention", "auto")
    lacks = _no_flash_attention(device, precision)
    if asked == "auto":
        return "sdpa" if lacks else "flash_attention_2"
    if asked == "flash_attention_2" and lacks:
        raise Failure("unsupported", f"flash_attention_2 is not available: {lacks}.", 'Set "attention" to "sdpa".')
    return asked


def _no_flash_attention(device: torch.device, precision: Precision) -> str | None:
    if device.type != "cuda":
        return f"it requires a CUDA GPU, not {device.type}"
    if precision == "float32":
        return "it requires precision bfloat16 or float16"
    if find_spec("flash_attn") is None:
        return "the package flash-attn is not installed"
    return None
