"""Lists the devices that this process uses, according to torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class UsedDevice:
    """A device used by this process."""

    # : torch's device index, which counts only devices visible to the process (CUDA_VISIBLE_DEVICES).
    ordinal: int
    # : Unique device id, independent of process and device order. NVML uses the same id.
    uuid: str


def used_devices() -> list[UsedDevice]:
    """Returns the devices on which this process has allocated memory, plus its current device. Empty without a GPU.

    A process can see all GPUs in its machine but uses only some of them: its own if there are several training
    processes, or all GPUs across which its model is distributed.
    """
    import torch

    if not torch.cuda.is_available():
        return []
    current = torch.cuda.current_device()
    ordinals = [i for i in range(torch.cuda.device_count()) if i == current or torch.cuda.memory_reserved(i) > 0]
    return [UsedDevice(i, str(torch.cuda.get_device_properties(i).uuid)) for i in ordinals]


def take_peaks(ordinal: int) -> tuple[float, float]:
    """Returns a device's peak allocated and peak reserved bytes since the last call, and resets both."""
    import torch

    peaks = (float(torch.cuda.max_memory_allocated(ordinal)), float(torch.cuda.max_memory_reserved(ordinal)))
    torch.cuda.reset_peak_memory_stats(ordinal)
    return peaks
