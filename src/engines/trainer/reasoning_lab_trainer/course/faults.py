"""Turns torch errors into messages for the user."""

from __future__ import annotations

import re
from typing import Any

import torch

from ..failure import Failure

LACK_OF_MEMORY = re.compile(
    r"out of memory|can't allocate memory|not enough memory|CUBLAS_STATUS_ALLOC_FAILED|std::bad_alloc", re.IGNORECASE
)


def is_out_of_memory(error: BaseException) -> bool:
    """Returns whether an error means that the device or the machine is out of memory. torch has no exception class for
    CPU memory.
    """
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return isinstance(error, RuntimeError) and LACK_OF_MEMORY.search(str(error)) is not None


def out_of_memory(error: BaseException, recipe: dict[str, Any], stage: dict[str, Any], where: str) -> Failure:
    """Suggests recipe changes, least invasive first."""
    pytorch = recipe.get("pytorch") or {}
    advice: list[str] = []
    micro = pytorch.get("microBatch")
    rows = rows_of_update(stage)
    if micro is None or micro > 1:
        less = max(1, (micro or rows or 2) // 2)
        advice.append(f'"microBatch": {less} (now {"all rows of an update" if micro is None else micro})')
    if not pytorch.get("gradientCheckpointing"):
        advice.append('"gradientCheckpointing": true')
    length = stage.get("max_completion_length")
    if length is not None:
        advice.append(f"a smaller max_completion_length (currently {length})")
    elif pytorch.get("maxLength"):
        advice.append(f'a smaller "maxLength" (now {pytorch["maxLength"]})')
    if not pytorch.get("lora"):
        advice.append('"lora": {}')
    place = "The GPU does" if torch.cuda.is_available() else "The machine does"
    detail = " ".join(str(error).split())[:300]
    return Failure(
        "full",
        f"{place} not have enough memory for {where}. ({detail})",
        f"Change the recipe's pytorch block. Try these in order: {'; '.join(advice)}."
        if advice
        else "Use a smaller model or a device with more memory.",
    )


def rows_of_update(stage: dict[str, Any]) -> int | None:
    """Returns the number of rows per update in a stage."""
    if "prompts_per_step" in stage:
        return stage["prompts_per_step"] * stage["num_generations"] // stage.get("steps_per_generation", 1)
    return stage.get("batch_size")


def described(error: BaseException) -> Failure:
    """Converts any other error to the trainer's final message."""
    if isinstance(error, Failure):
        return error
    if isinstance(error, OSError) and error.errno == 28:
        return Failure("full", f"The disk is full: {error}.", "Free up disk space, then resume the run.")
    return Failure("internal", f"{type(error).__name__}: {error}")
