"""Combines the readings of all processes into metrics of a step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

#: Devices beyond these are left out of metrics: readers keep a bounded number of names.
MOST_DEVICES = 64


class DeviceTake(TypedDict, total=False):
    """What one process observed on one device since the last call; unobserved fields are absent."""

    uuid: str
    #: Bytes, the largest seen.
    memory_used: float
    memory_total: float
    #: Mean, 0 to 1.
    utilization: float
    #: Degrees Celsius, the largest seen.
    temperature: float
    #: Watts, mean, and what it may draw.
    power: float
    power_limit: float
    #: Bytes in tensors, and held by torch, of this process alone: the most at any moment, not a sample.
    memory_peak: float
    memory_reserved: float


_SEEN = ("memory_used", "memory_total", "utilization", "temperature", "power", "power_limit")
_OWN = ("memory_peak", "memory_reserved")


def device_metrics(takes: Iterable[Iterable[DeviceTake]]) -> dict[str, float]:
    """Returns `gpu/<i>/<what>` from the takes of all processes, in rank order.

    Devices are numbered in the order in which ranks report them, so that number and rank agree if each process has one.
    A device shared by several processes appears once: observations are combined by max, torch memory by sum.
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
    numbered = list(devices.values())[:MOST_DEVICES]
    return {f"gpu/{i}/{name}": round(value, 6) for i, device in enumerate(numbered) for name, value in device.items()}
