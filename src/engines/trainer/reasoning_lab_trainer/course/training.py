"""Executes the assignment: opens model and data, then runs the stages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from ..failure import Failure
from ..link.client import Link
from ..link.messages import SCRATCH_VARIABLE, Assignment
from ..models.heads import make_head
from ..policy.orders import take_orders
from ..trl.stages import check_stages, run_stage
from ..trl.version import other_version
from .checkpoint import write_checkpoint
from .context import Context
from .opening import open_in_process_rewards, open_policy, open_problems
from .stage import Stage
from .versions import device_kind
from .world import World

NO_RECIPE: dict[str, Any] = {
    "seed": 0,
    "model": {},
    "template": {"prompt": "{prompt}", "think": None, "answer": None},
    "stages": [],
}
"""Minimal recipe for serving a checkpoint outside a run."""


def work(link: Link | None, world: World, assignment: Assignment) -> None:
    """Executes the assignment. Raises Failure, or RunStopped if the driver stops the run."""
    # The driver removes this folder, even if the process is killed.
    with TemporaryDirectory(prefix="reasoning-lab-", dir=os.environ.get(SCRATCH_VARIABLE)) as scratch:
        context = Context(link, world, assignment, Path(scratch))
        context.perform_with("checkpoint", lambda order: {"state": write_checkpoint(context, order["folder"])})
        if assignment["mode"] == "serve":
            serve(context)
        else:
            train(context)


def train(context: Context) -> None:
    """Runs the recipe's stages from where the run left off."""
    stages = context.recipe["stages"]
    check_stages(context.recipe)
    check_device(context.recipe)
    note = other_version()
    if note is not None:
        context.alert("info", note)
    open_models(context)
    open_data(context)
    context.in_process_rewards = open_in_process_rewards(context)
    take_orders(context)
    verdict = context.gate.pass_through("ready", lambda: ready_params(context))
    if verdict.decision == "stop":
        return
    context.start_device_sampler()
    try:
        for stage in stages_left(context, stages):
            run_stage(context, stage)
            context.next_stage(stage)
    finally:
        context.close()
    context.gate.ask("finished", {})


def serve(context: Context) -> None:
    """Answers policy requests until the driver stops sending them."""
    context.recipe = context.recipe or NO_RECIPE
    # Rewards are not needed here.
    context.policy = open_policy(context)
    if not getattr(context.policy.model, "is_quantized", False):
        context.policy.model.to(torch.device(device_kind()))
    take_orders(context)
    context.gate.pass_through("ready", lambda: ready_params(context))


def check_device(recipe: dict[str, Any]) -> None:
    """Raises Failure `unavailable` if the recipe requires a GPU and none is available."""
    asked = recipe.get("device", "auto")
    found = device_kind()
    if asked in ("auto", "cpu", found):
        return
    raise Failure(
        "unavailable",
        f'The recipe requests device "{asked}", but torch {torch.__version__} finds only {found}.',
        'Set "device" to "auto", or run Set Up PyTorch Engine to install a torch build for your GPU.',
    )


def open_models(context: Context) -> None:
    """Loads policy and heads from the checkpoint if there is one, otherwise from the recipe."""
    context.policy = open_policy(context)
    resume = context.assignment["resume"]
    if resume is not None:
        for name in resume["state"].get("heads") or []:
            context.heads[name] = make_head(context.policy, name, context.recipe, Path(resume["checkpoint"]) / name)


def open_data(context: Context) -> None:
    context.problems = open_problems(context)


def ready_params(context: Context) -> dict[str, Any]:
    policy = context.policy
    return {"parameters": policy.parameters, "trained": policy.trained, "context": policy.context}


def stages_left(context: Context, stages: list[dict[str, Any]]) -> Iterator[Stage]:
    """Yields the remaining stages. Each stage starts where the previous one ended."""
    resume = context.assignment["resume"]
    first = 0 if resume is None else resume["stage"]["index"]
    state = {} if resume is None else resume["state"]
    context.memory = dict(state.get("memory") or {})
    ended = (state.get("stage") or {}).get("index", first) < first
    # The checkpoint was written at the end of a stage: the driver names the next stage, but the state belongs to the
    # previous one.
    context.tokens = context.tokens_before = int(state.get("tokens" if ended else "tokensBefore") or 0)
    context.first_problem = int(state.get("firstProblem") or 0) + (int(state.get("problemsUsed") or 0) if ended else 0)
    context.first_step = 0 if resume is None else resume["step"] - resume["stage"]["step"]
    for index in range(first, len(stages)):
        done = resume["stage"]["step"] if resume is not None and index == first else 0
        if done >= int(stages[index]["steps"]):
            # The checkpoint was written at the very end of a stage.
            stage = Stage(index, stages[index]["type"], stages[index], done, context.first_step, context.first_problem)
            stage.problems_used = int(state.get("problemsUsed") or 0)
            context.tokens = context.tokens_before = int(state.get("tokens") or 0)
            context.next_stage(stage)
            continue
        yield Stage(index, stages[index]["type"], stages[index], done, context.first_step, context.first_problem)
