"""Combines the readings from all processes into step metrics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

# : Maximum number of devices in metrics. Readers keep only a limited number of metric names.
MAX_DEVICES = 64


class DeviceTake(TypedDict, total=False):
    """Observations of one device by one process since the last `take`. Missing readings are absent."""

    uuid: str
    # : Maximum observed, in bytes.
    memory_used: float
    memory_total: float
    # : Mean, from 0 to 1.
    utilization: float
    # : Maximum observed, in degrees Celsius.
    temperature: float
    # : Mean power draw, and power limit, in watts.
    power: float
    power_limit: float
    # : Peak bytes allocated in tensors, and peak bytes reserved by torch, for this process only. True peaks, not
    # samples.
    memory_peak: float
    memory_reserved: float


_SEEN = ("memory_used", "memory_total", "utilization", "temperature", "power", "power_limit")
_OWN = ("memory_peak", "memory_reserved")


def device_metrics(takes: Iterable[Iterable[DeviceTake]]) -> dict[str, float]:
    """Returns `gpu/<i>/<what>` metrics from the observations of all processes, in rank order.

    Devices are numbered in the order that ranks report them, so if each process has one device, its number is the
    rank. A device shared by several processes appears only once: its readings are combined by taking the maximum, and
    its torch memory is summed.
    """
    devices: dict[str, dict[str, float]] = {}
    for take in (device for takes_of_rank in takes for device in takes_of_rank):
        known = devices.setdefault(take["uuid"], {})
        for name in _SEEN:
            if name in take:
                known[name] = max(known.get(name, take[name]), take[name])
        for name in _OWN:
            if name in take:
                known[name] = known.get(name, 0.0) + take[name]
    numbered = list(devices.values())[:MAX_DEVICES]
    return {f"gpu/{i}/{name}": round(value, 6) for i, device in enumerate(numbered) for name, value in device.items()}
