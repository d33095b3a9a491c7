"""Communication between a run's training processes."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist

T = TypeVar("T")

PATIENCE = timedelta(days=30)
"""Timeout for messages between ranks. A paused run waits for a user, which can take a very long time."""


class World:
    """All processes in the run. Messages between ranks use gloo rather than training's collectives, because gloo needs
    no GPU and has no watchdog that would end a paused run.
    """

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank = rank
        self.size = size
        self._group: dist.ProcessGroup | None = None

    @property
    def main(self) -> bool:
        return self.rank == 0

    def join(self) -> None:
        """Connects to the other processes. Called once on every rank, after accelerate has set up its own groups."""
        if self.size > 1:
            self._group = dist.new_group(backend="gloo", timeout=PATIENCE)

    def broadcast(self, value: T | None = None) -> T:
        """Returns rank 0's value on every rank."""
        if self.size == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0, group=self._group, device=torch.device("cpu"))
        return box[0]

    def gather(self, value: T) -> list[T]:
        """Returns the values from all ranks, in rank order. Returns an empty list on ranks other than 0."""
        if self.size == 1:
            return [value]
        box: list[Any] | None = [None] * self.size if self.main else None
        dist.gather_object(value, box, dst=0, group=self._group)
        return box or []

    def share(self, value: T) -> list[T]:
        """Returns the values from all ranks on every rank, in rank order."""
        return self.broadcast(self.gather(value))

    def barrier(self) -> None:
        """Blocks until every rank has arrived."""
        self.gather(None)
        self.broadcast()


def processes_of_environment() -> tuple[int, int]:
    """Returns rank and world size for processes started by torchrun or Ray, or (0, 1) otherwise."""
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
