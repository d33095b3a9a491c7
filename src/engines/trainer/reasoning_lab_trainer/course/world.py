"""The training processes of a run."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist

T = TypeVar("T")

PATIENCE = timedelta(days=30)
"""Timeout of messages between ranks: a paused run waits for people, not for a network."""


class World:
    """All processes of the run. Messages between ranks use gloo, separate from the collectives of training: it needs no
    GPU, and no watchdog ends a paused run.
    """

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank = rank
        self.size = size
        self._group: dist.ProcessGroup | None = None

    @property
    def main(self) -> bool:
        return self.rank == 0

    def join(self) -> None:
        """Connects to the other processes; called once on every rank, after accelerate has set up its own groups."""
        if self.size > 1:
            self._group = dist.new_group(backend="gloo", timeout=PATIENCE)

    def broadcast(self, value: T | None = None) -> T:
        """Returns the value passed by rank 0, on every rank."""
        if self.size == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0, group=self._group, device=torch.device("cpu"))
        return box[0]

    def gather(self, value: T) -> list[T]:
        """Returns the values passed by all ranks, in order; an empty list on ranks other than 0."""
        if self.size == 1:
            return [value]
        box: list[Any] | None = [None] * self.size if self.main else None
        dist.gather_object(value, box, dst=0, group=self._group)
        return box or []

    def barrier(self) -> None:
        """Returns once every rank has arrived."""
        self.gather(None)
        self.broadcast()


def processes_of_environment() -> tuple[int, int]:
    """Rank and number of the processes started by torchrun or Ray; (0, 1) otherwise."""
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
