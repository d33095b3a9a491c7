"""Samples this process's devices in a background thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .devices import UsedDevice, take_peaks, used_devices
from .metrics import DeviceTake
from .nvml import Nvml, NvmlDevice, Reading

# : Seconds between samples. The driver updates utilization at most once a second.
INTERVAL = 1.0


@dataclass
class _Seen:
    """Aggregated readings of one device since the last `take`."""

    memory_used: list[float] = field(default_factory=list)
    memory_total: list[float] = field(default_factory=list)
    utilization: list[float] = field(default_factory=list)
    temperature: list[float] = field(default_factory=list)
    power: list[float] = field(default_factory=list)
    power_limit: list[float] = field(default_factory=list)

    def add(self, reading: Reading) -> None:
        for name, values in vars(self).items():
            value = getattr(reading, name)
            if value is not None:
                values.append(value)

    def take(self, uuid: str) -> DeviceTake:
        taken: DeviceTake = {"uuid": uuid}
        if self.memory_used:
            taken["memory_used"] = max(self.memory_used)
        if self.memory_total:
            taken["memory_total"] = max(self.memory_total)
        if self.utilization:
            taken["utilization"] = sum(self.utilization) / len(self.utilization)
        if self.temperature:
            taken["temperature"] = max(self.temperature)
        if self.power:
            taken["power"] = sum(self.power) / len(self.power)
        if self.power_limit:
            taken["power_limit"] = max(self.power_limit)
        return taken


class DeviceSampler:
    """Samples this process's devices until closed. Does nothing if there are no devices.

    Training never waits for the sampler. Its thread queries the driver about once a second without holding the GIL,
    and `take` only returns what the thread has recorded. A step shorter than the interval might have no samples. The
    next sample is then attributed to a later step.
    """

    def __init__(
        self,
        devices: Sequence[UsedDevice],
        *,
        interval: float = INTERVAL,
        peaks: Callable[[int], tuple[float, float]] | None = take_peaks,
    ) -> None:
        """`peaks` returns the peak memory that torch used on a device since the last call, or None to omit it."""
        self._devices = list(devices)
        self._peaks = peaks
        self._interval = interval
        self._lock = threading.Lock()
        self._seen = {device.uuid: _Seen() for device in self._devices}
        self._end = threading.Event()
        self._nvml = Nvml.open() if self._devices else None
        handles = [(device.uuid, self._nvml.device(device.uuid)) for device in self._devices] if self._nvml else []
        self._handles: list[tuple[str, NvmlDevice]] = [(uuid, handle) for uuid, handle in handles if handle is not None]
        self._thread: threading.Thread | None = None
        if self._handles:
            # Use a daemon thread, so it does not keep the process alive after an exception.
            self._thread = threading.Thread(target=self._run, name="gpu-sampler", daemon=True)
            self._thread.start()

    @classmethod
    def start(cls) -> DeviceSampler:
        """Starts sampling the devices that torch uses. Call this when the weights are on their final device."""
        return cls(used_devices())

    def take(self) -> list[DeviceTake]:
        """Returns one observation per device used by this process, covering the time since the last call. Empty without
        a GPU.
        """
        with self._lock:
            seen, self._seen = self._seen, {device.uuid: _Seen() for device in self._devices}
        takes = []
        for device in self._devices:
            taken = seen[device.uuid].take(device.uuid)
            if self._peaks is not None:
                taken["memory_peak"], taken["memory_reserved"] = self._peaks(device.ordinal)
            takes.append(taken)
        return takes

    def close(self) -> None:
        """Stops the thread after its current reading."""
        self._end.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
            self._thread = None
        if self._nvml is not None:
            self._nvml.close()
            self._nvml = None

    def _run(self) -> None:
        while not self._end.is_set():
            readings = [(uuid, handle.read()) for uuid, handle in self._handles]
            with self._lock:
                for uuid, reading in readings:
                    self._seen[uuid].add(reading)
            self._end.wait(self._interval)
