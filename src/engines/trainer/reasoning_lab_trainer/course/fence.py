"""Keeps code that runs between updates from changing training's random streams."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


def random_state() -> dict[str, Any]:
    """Returns the state of every random number generator used in training, in transformers' checkpoint format."""
    state: dict[str, Any] = {
        "python": random.getstate(),
        "numpy": np.random.get_state(),
        "cpu": torch.random.get_rng_state(),
    }
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        state["cuda"] = torch.cuda.get_rng_state()
    if torch.backends.mps.is_available():
        state["mps"] = torch.mps.get_rng_state()
    return state


def set_random_state(state: dict[str, Any]) -> None:
    """Restores a state returned by `random_state`."""
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.random.set_rng_state(state["cpu"])
    if "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"])
    if "mps" in state:
        torch.mps.set_rng_state(state["mps"])


@contextmanager
def fenced() -> Iterator[None]:
    """Context manager: code inside does not consume training's random numbers."""
    state = random_state()
    try:
        yield
    finally:
        set_random_state(state)
