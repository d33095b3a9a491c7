"""Sets up multi-process training."""

from __future__ import annotations

from .versions import device_kind
from .world import World, processes_of_environment


def joined_world() -> World:
    """Connects the processes started by torchrun or Ray. Also supports a single process."""
    rank, size = processes_of_environment()
    world = World(rank, size)
    if size > 1:
        from accelerate import PartialState

        # Sets up the collectives that transformers trainers use.
        PartialState(cpu=device_kind() == "cpu")
        world.join()
    return world
