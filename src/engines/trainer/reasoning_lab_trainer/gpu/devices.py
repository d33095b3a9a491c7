"""The devices used by this process, according to torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class UsedDevice:
    """A device of this process."""

    #: torch's number of it, which counts only what is visible to the process (CUDA_VISIBLE_DEVICES).
    ordinal: int
    #: The same in every process and after every reordering; NVML knows it, too.
    uuid: str


def used_devices() -> list[UsedDevice]:
    """Devices on which this process holds memory, and its current one; empty without a GPU.

    A process sees all GPUs of its machine and uses some: each of several training processes its own, a model
    distributed over GPUs all of these.
    """
    import torch

    if not torch.cuda.is_available():
        return []
    current = torch.cuda.current_device()
    ordinals = [i for i in range(torch.cuda.device_count()) if i == current or torch.cuda.memory_reserved(i) > 0]
    return [UsedDevice(i, str(torch.cuda.get_device_properties(i).uuid)) for i in ordinals]


def take_peaks(ordinal: int) -> tuple[float, float]:
    """Peak bytes in tensors, and peak reserved bytes, on a device since the last call; resets them."""
    import torch

    peaks = (float(torch.cuda.max_memory_allocated(ordinal)), float(torch.cuda.max_memory_reserved(ordinal)))
    torch.cuda.reset_peak_memory_stats(ordinal)
    return peaks
