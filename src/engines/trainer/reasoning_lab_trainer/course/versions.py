"""Reports the trainer's package versions and devices."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Literal

import torch

PACKAGES = ("torch", "trl", "transformers", "accelerate", "datasets", "peft", "vllm", "bitsandbytes", "ray")


def versions(own: str) -> dict[str, str]:
    """Returns the versions that affect a run's results."""
    known = {"python": platform.python_version(), "reasoning-lab-trainer": own}
    known |= {package: found for package in PACKAGES if (found := installed(package)) is not None}
    if torch.version.cuda is not None and torch.cuda.is_available():
        known["cuda"] = torch.version.cuda
    if torch.version.hip is not None:
        known["rocm"] = torch.version.hip
    return known


def installed(package: str) -> str | None:
    """Returns a package's version, or None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def device_kind() -> Literal["cpu", "cuda", "mps"]:
    """Returns the training device: whatever torch finds, unless accelerate is configured to use the CPU."""
    if os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes"):
        return "cpu"
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def device_in_words(processes: int) -> str:
    """Returns a device description for run.json, such as `cuda (2 x NVIDIA H200)` or `cpu (2 threads)`."""
    kind = device_kind()
    if kind == "cuda":
        name = torch.cuda.get_device_name(torch.cuda.current_device())
        return f"cuda ({processes} x {name})" if processes > 1 else f"cuda ({name})"
    if kind == "mps":
        return "mps"
    threads = torch.get_num_threads()
    words = "1 thread" if threads == 1 else f"{threads} threads"
    return f"cpu ({processes} x {words})" if processes > 1 else f"cpu ({words})"
