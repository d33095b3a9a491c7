"""Opens a run's policy, problems and rewards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ..data.picture_check import check_pictures
from ..data.problems import DriverProblems, Problems, open_row_problems, problems_hash
from ..models.load import load_policy
from ..models.policy import Policy
from ..trl.in_process_rewards import InProcessRewards
from .faults import is_out_of_memory, out_of_memory
from .versions import device_kind

if TYPE_CHECKING:
    from .context import Context


def open_policy(context: Context) -> Policy:
    """Loads weights from the checkpoint if there is one, otherwise from the recipe. Raises Failure."""
    resume = context.assignment["resume"]
    folder = None if resume is None else resume["checkpoint"]
    try:
        return load_policy(context.recipe, context.assignment["newModel"], torch.device(device_kind()), folder)
    except Exception as error:
        if is_out_of_memory(error):
            raise out_of_memory(error, context.recipe, {}, "the weights") from error
        raise


def make_whole(context: Context, trainer: Any) -> None:
    """Replaces a model that is sharded across ranks with an unsharded one, which the next stage copies and shards
    again. Called on every rank.
    """
    policy, world = context.policy, context.world
    if not trainer.is_fsdp_enabled or trainer.accelerator.unwrap_model(trainer.model) is not policy.model:
        return
    policy.forget_reference()
    trained: dict[str, torch.Tensor] = trainer.accelerator.get_state_dict(trainer.model)
    fresh = open_policy(context).model
    own = fresh.state_dict()
    with torch.no_grad():
        for name in world.broadcast(sorted(trained) if world.main else None):
            # Move one tensor at a time, so no rank holds two full copies.
            value = world.broadcast(trained[name].cpu() if world.main else None)
            own[name].copy_(value)
    policy.model = fresh


def open_problems(context: Context) -> Problems:
    """
    Returns the run's problems. Called on every rank. If the dataset is read here, reports it to the driver
    (`data/opened`). Raises Failure on read errors, and if pictures are missing or cannot be opened.
    """
    problems = _opened_problems(context)
    if context.pictures is not None:
        check_pictures(context.pictures, problems)
    return problems


def _opened_problems(context: Context) -> Problems:
    if context.assignment["problems"]:
        return DriverProblems(context.gate.ask)
    # One process reads the data, downloading it from the Hub if needed. The others then find it in the cache.
    problems = open_row_problems(context.recipe) if context.world.main else None
    context.world.barrier()
    problems = problems or open_row_problems(context.recipe)
    context.gate.ask(
        "data/opened",
        lambda: {
            "hash": problems_hash(problems),
            "training": problems.total,
            "heldOut": problems.held_out_total,
            "leftOut": 0,
        },
    )
    return problems


def open_in_process_rewards(context: Context) -> InProcessRewards | None:
    """Loads Python reward files from the recipe, or returns None if rewards run in separate hosts. Raises Failure."""
    if (context.recipe.get("pytorch") or {}).get("rewards") != "in-process":
        return None
    columns = [
        column
        for column in context.assignment["columns"]
        if column["file"] is not None and Path(column["file"]).suffix == ".py"
    ]
    return InProcessRewards(columns) if columns else None
