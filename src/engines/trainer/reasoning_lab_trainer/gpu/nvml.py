"""Reads the current state of a device with NVIDIA's management library, through nvidia-ml-py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Reading:
    """A device reading. Fields that the device does not support are None."""

    # : Bytes in use by all processes, and total bytes.
    memory_used: float | None
    memory_total: float | None
    # : Fraction of the most recent interval (up to a second) during which a kernel was running, from 0 to 1.
    utilization: float | None
    #: Degrees Celsius.
    temperature: float | None
    # : Current power draw and power limit, in watts.
    power: float | None
    power_limit: float | None


class NvmlDevice:
    """A device, identified by its NVML handle."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml = nvml
        self._handle = handle

    def read(self) -> Reading:
        """Takes a reading. Unsupported values, such as the utilization of a GPU slice, are None rather than errors."""
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
    """The initialized NVML library. Several instances can be open because NVML is reference-counted."""

    def __init__(self, nvml: Any) -> None:
        self._nvml = nvml

    @classmethod
    def open(cls) -> Nvml | None:
        """Returns None if the package or driver is not installed."""
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
        """Returns the device or MIG slice with the given UUID. The UUID has no prefix, as reported by torch."""
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
