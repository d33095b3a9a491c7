"""Reference policies of stages that need one."""

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
    """Reference weights in the checkpoint that a stage continues from; None if it starts, or keeps none."""
    resume = context.assignment["resume"]
    return reference_file(resume["checkpoint"]) if stage.step > 0 and resume is not None else None


def reference_policy(context: Context, saved: Path | None) -> PreTrainedModel | None:
    """A frozen copy of the policy at the start of the stage; None if adapters are trained. Must be made before a
    trainer shards the policy.
    """
    reference = context.policy.reference()
    if reference is not None and saved is not None:
        load_reference(reference.state_dict(), saved)
    return reference


def restore_adapters(context: Context, saved: Path | None) -> None:
    """The same for the frozen adapter copy made by a trainer."""
    adapters = adapter_reference(context.policy.model)
    if saved is not None and adapters:
        load_reference(adapters, saved)


@contextmanager
def reference_made_for(context: Context, saved: Path | None, module: str) -> Iterator[None]:
    """Inside the context, TRL's `module` uses `reference_policy` as its reference model. TRL would otherwise load the
    model again from its source, where a new model or the result of an earlier stage does not exist.
    """

    def of_policy(*_: Any, **__: Any) -> Any:
        return reference_policy(context, saved)

    with patch.object(import_module(module), "create_model_from_path", of_policy):
        yield
