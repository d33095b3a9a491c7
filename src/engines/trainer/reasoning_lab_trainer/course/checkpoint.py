"""Checkpoint folders. The top level contains the policy as a Hugging Face model. `trainer/` contains everything else
needed for an exact resume: optimizer, scheduler, scaler, each rank's RNG state, trainer state, and reference
weights.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers import Trainer

from ..failure import Failure
from ..models.heads import save_head
from .fence import random_state, set_random_state

if TYPE_CHECKING:
    from .context import Context

TRAINER = "trainer"
"""Subfolder that is only needed to resume."""

REFERENCE = "reference.safetensors"

STATE = 1
"""Version of the format returned by `checkpoint`."""

COUNTERS = ("_total_train_tokens", "entropy_coef", "_last_world_entropy")
"""TRL trainer attributes that appear in metrics or change over time, but that TRL does not checkpoint."""


def boundary_of(trainer: Trainer) -> dict[str, Any]:
    """Returns the checkpoint contents other than weights and optimizer. Called at every gate, so it must be cheap."""
    return {
        "random": random_state(),
        "tokens": trainer.state.num_input_tokens_seen,
        "step": trainer.state.global_step,
        "epoch": trainer.state.epoch,
        "counters": {
            name: value
            for name in COUNTERS
            if isinstance(value := getattr(trainer, name, None), (int, float)) and not isinstance(value, bool)
        },
    }


def write_checkpoint(context: Context, folder: str) -> dict[str, Any]:
    """Writes the run as of the last gate to `folder`. Called on every rank. Returns the state that the driver needs to
    resume the run. Raises Failure `full` if the disk is full.
    """
    active = context.active
    boundary = context.boundary
    root = Path(folder)
    try:
        if context.world.main:
            root.mkdir(parents=True, exist_ok=True)
        context.world.barrier()
        save_models(context, root)
        if active is not None and boundary is not None:
            save_trainer(context, active.trainer, boundary, root / TRAINER)
        context.world.barrier()
    except OSError as error:
        if error.errno == 28:
            raise Failure(
                "full", f"Not enough disk space for checkpoint {folder}.", "Free up some disk space."
            ) from error
        raise
    stage = None if active is None else active.stage
    return {
        "version": STATE,
        "stage": None if stage is None else {"index": stage.index, "type": stage.type, "step": stage.step},
        "firstProblem": 0 if stage is None else stage.first_problem,
        "firstStep": 0 if stage is None else stage.first_step,
        "problemsUsed": 0 if stage is None else stage.problems_used,
        "tokens": context.tokens,
        "tokensBefore": context.tokens_before,
        "processes": context.world.size,
        "heads": sorted(context.heads),
        "memory": context.memory,
    }


def save_models(context: Context, root: Path) -> None:
    """Saves policy and heads, gathering sharded weights from all ranks first."""
    trainer = None if context.active is None else context.active.trainer
    trained = None if trainer is None else trainer.accelerator.unwrap_model(trainer.model)
    gathered = None
    if trainer is not None and trainer.is_fsdp_enabled:
        gathered = trainer.accelerator.get_state_dict(trainer.model)
    if not context.world.main:
        return
    policy = context.policy
    policy.save(root, gathered if trained is policy.model else None)
    for name, head in context.heads.items():
        save_head(head, policy.tokenizer, root / name, gathered if trained is head else None)


def save_trainer(context: Context, trainer: Any, boundary: dict[str, Any], folder: Path) -> None:
    """Saves everything needed for an exact resume except the weights."""
    if context.world.main:
        folder.mkdir(exist_ok=True)
    context.world.barrier()
    trainer._save_optimizer_and_scheduler(str(folder))
    trainer._save_scaler(str(folder))
    torch.save(packed_random_state(boundary["random"]), folder / f"random_{context.world.rank}.pt")
    save_reference(context, trainer, folder)
    save_ahead = getattr(trainer, "save_ahead", None)
    if save_ahead is not None:
        save_ahead(folder, boundary["step"])
    if not context.world.main:
        return
    state = trainer.state
    now = (state.global_step, state.epoch, state.num_input_tokens_seen)
    state.global_step, state.epoch, state.num_input_tokens_seen = (
        boundary["step"],
        boundary["epoch"],
        boundary["tokens"],
    )
    try:
        state.save_to_json(str(folder / "trainer_state.json"))
    finally:
        state.global_step, state.epoch, state.num_input_tokens_seen = now
    (folder / "counters.json").write_text(json.dumps(boundary["counters"]))


def reference_weights(trainer: Any) -> dict[str, torch.Tensor]:
    """Returns the weights of a trainer's reference policy, which is either a separate model or a frozen copy of the
    adapters. Empty if there is no reference.
    """
    reference = getattr(trainer, "ref_model", None)
    if reference is not None:
        return trainer.accelerator.get_state_dict(reference)
    return adapter_reference(trainer.accelerator.unwrap_model(trainer.model))


def adapter_reference(model: Any) -> dict[str, torch.Tensor]:
    """Returns the frozen adapter copy that TRL created in a model, or an empty dict if there is none."""
    if "ref" not in getattr(model, "peft_config", {}):
        return {}
    return {name: value.detach() for name, value in model.named_parameters() if ".ref." in name}


def save_reference(context: Context, trainer: Any, folder: Path) -> None:
    """Saves the reference weights, if any. They cannot be recovered from the trained weights."""
    path = folder / REFERENCE
    before = context.reference_file
    # The reference is constant during a stage unless TRL mixes the policy into it.
    mixed = getattr(trainer.args, "teacher_model_kind", None) == "ema"
    fixed = not (mixed or getattr(trainer.args, "sync_ref_model", False))
    if fixed and before is not None and before[0] is trainer and linked(before[1], path, context.world.main):
        return
    weights = reference_weights(trainer)
    if not weights:
        return
    if context.world.main:
        # Tied weights are two names for the same tensor, which safetensors rejects.
        save_file({name: value.detach().cpu().clone().contiguous() for name, value in weights.items()}, path)
    context.reference_file = (trainer, path)


def reference_file(checkpoint: str | Path) -> Path | None:
    """Returns the path of a checkpoint's reference weights, or None if it has none."""
    path = Path(checkpoint) / TRAINER / REFERENCE
    return path if path.is_file() else None


def load_reference(own: dict[str, torch.Tensor], path: Path) -> None:
    """Copies a checkpoint's reference weights into the given tensors by name. Raises Failure `mismatch`."""
    saved = load_file(path)
    if set(own) != set(saved) or any(own[name].shape != saved[name].shape for name in own):
        raise Failure("mismatch", f"The reference weights in {path} are for a different model.", "Start a new run.")
    with torch.no_grad():
        for name, value in own.items():
            value.copy_(saved[name])


def linked(before: Path, path: Path, main: bool) -> bool:
    """Reuses an earlier checkpoint's file as a hard link or copy. Returns whether it succeeded."""
    if not before.is_file():
        return False
    if main:
        try:
            os.link(before, path)
        except OSError:
            shutil.copyfile(before, path)
    return True


def load_counters(trainer: Any, folder: str | Path) -> None:
    path = Path(folder) / "counters.json"
    if not path.is_file():
        return
    for name, value in json.loads(path.read_text()).items():
        if name in COUNTERS and hasattr(trainer, name) and isinstance(value, (int, float)):
            setattr(trainer, name, value)


def load_random_state(folder: str | Path, context: Context) -> None:
    """Restores this rank's random state. Warns if there is none because the number of processes has changed."""
    path = Path(folder) / f"random_{context.world.rank}.pt"
    if not path.is_file():
        context.alert(
            "warning",
            "The checkpoint has no random states for this number of processes, so from here on, sampling will differ "
            "from an uninterrupted run.",
        )
        return
    set_random_state(unpacked_random_state(torch.load(path, map_location="cpu", weights_only=True)))


def packed_random_state(state: dict[str, Any]) -> dict[str, Any]:
    """Converts the state to plain numbers and tensors, which torch can load without executing code."""
    name, keys, place, has_gauss, gauss = state["numpy"]
    return {**state, "numpy": [name, torch.from_numpy(keys.astype(np.int64)), place, has_gauss, gauss]}


def unpacked_random_state(state: dict[str, Any]) -> dict[str, Any]:
    name, keys, place, has_gauss, gauss = state["numpy"]
    version, internal, gauss_next = state["python"]
    return {
        **state,
        "python": (version, tuple(internal), gauss_next),
        "numpy": (name, keys.numpy().astype(np.uint32), place, has_gauss, gauss),
    }
