"""Setup of several training processes."""

from __future__ import annotations

from .versions import device_kind
from .world import World, processes_of_environment


def joined_world() -> World:
    """Connects all processes started by torchrun or Ray; a single one otherwise."""
    rank, size = processes_of_environment()
    world = World(rank, size)
    if size > 1:
        from accelerate import PartialState

        # Sets up the collectives used by transformers trainers.
        PartialState(cpu=device_kind() == "cpu")
        world.join()
    return world
