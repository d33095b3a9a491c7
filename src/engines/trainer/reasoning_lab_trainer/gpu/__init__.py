"""What the run's GPUs do: memory, utilization, temperature and power, sampled beside training.

A process starts one `DeviceSampler` when its weights are on their device, calls `take()` at the end of every step, and
hands what it got to rank 0 (plain lists and dictionaries, made to be gathered). Rank 0 turns the takes of all processes
into metrics by `device_metrics`::

    sampler = DeviceSampler.start()
    ...
    takes = [sampler.take()]          # of every rank, in the order of ranks
    metrics |= device_metrics(takes)  # gpu/0/memory_used, gpu/0/utilization, ...
    ...
    sampler.close()

Without a GPU, or without the package nvidia-ml-py, there is less to tell and nothing is said about it.
"""

from .metrics import DeviceTake, device_metrics
from .sampler import DeviceSampler

__all__ = ["DeviceSampler", "DeviceTake", "device_metrics"]
