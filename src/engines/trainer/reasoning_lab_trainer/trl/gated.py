"""Extends all TRL trainers with gradient checks and exact resume."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..course import checkpoint
from ..failure import Failure
from .options import rejection

if TYPE_CHECKING:
    from ..course.context import Context

SKIPPED_UPDATES = 20
"""Maximum number of consecutive updates that the float16 loss scaler can skip before training fails. It halves the
scale each time.
"""


def raised_in_constructor(error: BaseException) -> bool:
    """Returns whether the constructor of a TRL trainer itself raised an error."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    code = None if frame is None else frame.tb_frame.f_code
    return code is not None and code.co_name == "__init__" and "trl" in Path(code.co_filename).parts


class Gated:
    """Mixin for a transformers trainer. Must come before the trainer class. `Context.train` sets `lab`."""

    lab: Context
    _skipped = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        try:
            super().__init__(*args, **kwargs)
        except (ValueError, NotImplementedError) as error:
            # Other errors, for example in rows, are not about options.
            if not raised_in_constructor(error):
                raise
            raise rejection(error, "In this stage") from error

    def _get_grad_norm(self, model: Any, grad_norm: Any = None) -> Any:
        """Like the transformers method, but raises an error before an update with a non-finite gradient is applied."""
        norm = super()._get_grad_norm(model, grad_norm=grad_norm)
        value = float(norm)
        finite = value == value and abs(value) != float("inf")
        if getattr(self.accelerator, "scaler", None) is not None:
            # With float16, the scaler skips such updates on its own.
            self._skipped = 0 if finite else self._skipped + 1
            finite = self._skipped < SKIPPED_UPDATES
        if not finite:
            raise Failure(
                "invalid",
                f"The gradient of update {self.state.global_step + 1} in this stage is {value}: "
                "the loss is no longer finite. The weights are from the previous update.",
                "Resume with a lower learning_rate, a smaller max_grad_norm or more warmup_steps; with float16, use "
                '"precision": "bfloat16" or "float32".',
            )
        return norm

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        """Does nothing: the checkpoint's weights were already loaded with the model."""

    def _load_rng_state(self, checkpoint_folder: str | None) -> None:
        """Restores this rank's state from the gate at which the checkpoint was written."""
        if checkpoint_folder is not None:
            checkpoint.load_random_state(checkpoint_folder, self.lab)

    def _load_optimizer_and_scheduler(self, checkpoint_folder: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint_folder)
        if checkpoint_folder is not None:
            checkpoint.load_counters(self, checkpoint_folder)
