"""Trains a single stage and handles errors in the training loop."""

from __future__ import annotations

import sys
from pathlib import Path

from transformers import PrinterCallback, ProgressCallback, Trainer

from ..failure import Failure
from ..models.policy import unpatch
from .callback import GateCallback
from .checkpoint import TRAINER
from .context import Active, Context
from .faults import is_out_of_memory, out_of_memory
from .opening import make_whole
from .stage import RunStopped, Stage, StageEnded


def train(context: Context, stage: Stage, trainer: Trainer) -> None:
    """
    Trains until the stage ends, restoring the optimizer if the run was resumed in the middle of this stage. Raises
    RunStopped if the driver stops the run, and Failure on errors.
    """
    trainer.lab = context
    callback = GateCallback(context, stage, trainer)
    trainer.add_callback(callback)
    # Metrics are sent over the link instead of being printed.
    trainer.remove_callback(PrinterCallback)
    trainer.remove_callback(ProgressCallback)
    context.active = Active(stage, trainer)
    try:
        trainer.train(resume_from_checkpoint=resume_folder(context, stage))
    except StageEnded:
        pass
    except RunStopped:
        raise
    except BaseException as error:
        failure = error if isinstance(error, Failure) else None
        if is_out_of_memory(error):
            failure = out_of_memory(error, context.recipe, stage.settings, f'stage {stage.index + 1} ("{stage.type}")')
        if failure is None:
            raise
        offer_checkpoint(context, trainer)
        raise failure from error
    finally:
        unpatch(trainer.accelerator.unwrap_model(trainer.model))
        context.active = None
        context.boundary = None
        context.updating = False
        context.tokens_before = context.tokens
    if callback.stopped:
        raise RunStopped
    if stage.index + 1 < len(context.recipe["stages"]):
        make_whole(context, trainer)


def resume_folder(context: Context, stage: Stage) -> str | None:
    """Returns the trainer part of the checkpoint that this stage resumes from, or None if the stage starts fresh."""
    resume = context.assignment["resume"]
    if resume is None or stage.step == 0 or resume["stage"]["index"] != stage.index:
        return None
    folder = Path(resume["checkpoint"]) / TRAINER
    if folder.is_dir():
        return str(folder)
    context.alert(
        "warning",
        "The checkpoint has no optimizer state. The optimizer starts fresh, with the stage's schedule.",
    )
    return None


def offer_checkpoint(context: Context, trainer: Trainer) -> None:
    """
    Lets the driver save a checkpoint after an error, if weights, optimizer and random states are still as they were
    at the last gate.
    """
    if context.boundary is None or context.updating or context.world.size > 1 or context.link is None:
        return
    trainer.model.zero_grad(set_to_none=True)
    free_memory()
    try:
        context.gate.pass_through("run/orders", {"answers": [], "failing": True})
    except Failure as failure:
        print(f"Could not write a checkpoint: {failure}", file=sys.stderr)


def free_memory() -> None:
    """Releases device memory held by torch."""
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
