"""Reference policies for stages that need one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from ..course.checkpoint import adapter_reference, load_reference, reference_file

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from ..course.context import Context
    from ..course.stage import Stage


def saved_reference(context: Context, stage: Stage) -> Path | None:
    """Returns the path of the reference weights in the checkpoint that a stage resumes from. None if the stage starts
    fresh or has no reference.
    """
    resume = context.assignment["resume"]
    return reference_file(resume["checkpoint"]) if stage.step > 0 and resume is not None else None


def reference_policy(context: Context, saved: Path | None) -> PreTrainedModel | None:
    """Returns a frozen copy of the policy at the start of the stage, or None when training adapters. Must be called
    before a trainer shards the policy.
    """
    reference = context.policy.reference()
    if reference is not None and saved is not None:
        load_reference(reference.state_dict(), saved)
    return reference


def restore_adapters(context: Context, saved: Path | None) -> None:
    """Restores a trainer's frozen adapter copy from the saved reference weights, if there are any."""
    adapters = adapter_reference(context.policy.model)
    if saved is not None and adapters:
        load_reference(adapters, saved)


@contextmanager
def reference_made_for(context: Context, saved: Path | None, module: str) -> Iterator[None]:
    """Context manager in which TRL's `module` uses `reference_policy` as its reference model. TRL would otherwise
    reload the model from its source, which does not exist for a new model or one trained in an earlier stage.
    """

    def of_policy(*_: Any, **__: Any) -> Any:
        return reference_policy(context, saved)

    with patch.object(import_module(module), "create_model_from_path", of_policy):
        yield
