"""How several training processes meet."""

from __future__ import annotations

from .versions import device_kind
from .world import World, processes_of_environment


def joined_world() -> World:
    """All processes that torchrun or Ray started; alone where nobody did."""
    rank, size = processes_of_environment()
    world = World(rank, size)
    if size > 1:
        from accelerate import PartialState

        # Sets up the collectives of training as the trainers of transformers find them.
        PartialState(cpu=device_kind() == "cpu")
        world.join()
    return world
