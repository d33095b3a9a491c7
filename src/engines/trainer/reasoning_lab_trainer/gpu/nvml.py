"""NVIDIA's management library, through nvidia-ml-py: the current state of a device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Reading:
    """A reading of a device; None: not supported by the device."""

    #: Bytes in use by all programs, and bytes that there are.
    memory_used: float | None
    memory_total: float | None
    #: Share of the last moments (up to a second) in which some kernel ran, 0 to 1.
    utilization: float | None
    #: Degrees Celsius.
    temperature: float | None
    #: Watts that it draws, and that it may draw.
    power: float | None
    power_limit: float | None


class NvmlDevice:
    """One device, by its handle."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml = nvml
        self._handle = handle

    def read(self) -> Reading:
        """Takes one reading. Unsupported values (such as the utilization of a GPU slice) are None, not errors."""
        nvml, handle = self._nvml, self._handle
        memory = self._tell(lambda: nvml.nvmlDeviceGetMemoryInfo(handle))
        busy = self._tell(lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu)
        heat = self._tell(lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))
        milliwatts = self._tell(lambda: nvml.nvmlDeviceGetPowerUsage(handle))
        most = self._tell(lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(handle))
        return Reading(
            memory_used=None if memory is None else float(memory.used),
            memory_total=None if memory is None else float(memory.total),
            utilization=None if busy is None else busy / 100,
            temperature=None if heat is None else float(heat),
            power=None if milliwatts is None else milliwatts / 1000,
            power_limit=None if most is None else most / 1000,
        )

    def _tell(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except self._nvml.NVMLError:
            return None


class Nvml:
    """The initialized library; several instances may be open, because it counts them."""

    def __init__(self, nvml: Any) -> None:
        self._nvml = nvml

    @classmethod
    def open(cls) -> Nvml | None:
        """Returns None if the package or the driver is not installed."""
        try:
            import pynvml
        except ImportError:
            return None
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError:
            return None
        return cls(pynvml)

    def device(self, uuid: str) -> NvmlDevice | None:
        """The device with a UUID as reported by torch: without a prefix, for a whole device or a slice of one (MIG)."""
        handle = self._handle(f"GPU-{uuid}") or self._handle(f"MIG-{uuid}")
        return None if handle is None else NvmlDevice(self._nvml, handle)

    def _handle(self, uuid: str) -> Any:
        try:
            return self._nvml.nvmlDeviceGetHandleByUUID(uuid)
        except self._nvml.NVMLError:
            return None

    def close(self) -> None:
        try:
            self._nvml.nvmlShutdown()
        except self._nvml.NVMLError:
            return
