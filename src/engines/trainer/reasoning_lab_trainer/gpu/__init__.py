"""Samples memory, utilization, temperature and power of the run's GPUs during training.

Each process starts a `DeviceSampler` when its weights are on their device, calls `take()` at the end of every step, and
sends the result (plain lists and dictionaries) to rank 0. Rank 0 converts the results from all processes to metrics
with `device_metrics`::

    sampler = DeviceSampler.start()
    ...
    takes = [sampler.take()]          # one per rank, in rank order
    metrics |= device_metrics(takes)  # gpu/0/memory_used, gpu/0/utilization, ...
    ...
    sampler.close()

Without a GPU or the nvidia-ml-py package, the affected metrics are omitted without a warning.
"""

from .metrics import DeviceTake, device_metrics
from .sampler import DeviceSampler

__all__ = ["DeviceSampler", "DeviceTake", "device_metrics"]
