"""Reference policies of stages that measure the distance to one."""

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
    """Reference weights of the checkpoint that a stage goes on from; None: it begins, or keeps none."""
    resume = context.assignment["resume"]
    return reference_file(resume["checkpoint"]) if stage.step > 0 and resume is not None else None


def reference_policy(context: Context, saved: Path | None) -> PreTrainedModel | None:
    """
    A frozen copy of the policy as the stage began; None where adapters are trained. To be made before a trainer lays
    its parts out over the ranks.
    """
    reference = context.policy.reference()
    if reference is not None and saved is not None:
        load_reference(reference.state_dict(), saved)
    return reference


def restore_adapters(context: Context, saved: Path | None) -> None:
    """The same for the frozen copy of the adapters that a trainer has made."""
    adapters = adapter_reference(context.policy.model)
    if saved is not None and adapters:
        load_reference(adapters, saved)


@contextmanager
def reference_made_for(context: Context, saved: Path | None, module: str) -> Iterator[None]:
    """
    Inside, TRL's `module` takes `reference_policy` for its reference model. By itself it would read the model
    again from where it came, and a model that is new, or that an earlier stage has taught, lies nowhere.
    """

    def of_policy(*_: Any, **__: Any) -> Any:
        return reference_policy(context, saved)

    with patch.object(import_module(module), "create_model_from_path", of_policy):
        yield
