"""MiniLLM (Gu et al. 2023, arXiv:2306.08543) with TRL's MiniLLMTrainer: the reverse KL of whole completions, as a
policy gradient in which a token's reward is the log-ratio of teacher and student, plus the exact reverse KL of each
token.
"""

from __future__ import annotations

import functools
from typing import Any


def minillm_options(settings: dict[str, Any]) -> dict[str, Any]:
    """Returns TRL settings implied by the stage. Without rewards, samples for the same prompt are not compared."""
    return {"num_generations": 1, "kd_temperature": settings["temperature"]}


class MiniLLM:
    """Mixin for MiniLLMTrainer. Must come before the trainer class. TRL 1.13 counts padding as completion tokens,
    does not divide the exact part among micro-batches, and reports a constant reward. The mixin fixes all three.
    """

    _tokens: Any = None
    """1 for the tokens of the current micro-batch's completions, 0 for padding."""

    def compute_loss(self, model: Any, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        self._tokens = inputs["completion_mask"].bool()
        return super().compute_loss(model, inputs, *args, **kwargs)  # type: ignore[misc]

    def _compute_advantage(self, **named: Any) -> Any:
        return super()._compute_advantage(**{**named, "mask": self._tokens})  # type: ignore[misc]

    def _single_step_decomposition_loss(self, **named: Any) -> Any:
        loss = super()._single_step_decomposition_loss(**{**named, "mask": self._tokens})  # type: ignore[misc]
        return loss / self.current_gradient_accumulation_steps  # type: ignore[attr-defined]

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        metrics = self._metrics["train"]  # type: ignore[attr-defined]
        for name in [name for name in metrics if name.startswith("reward") or name == "frac_reward_zero_std"]:
            del metrics[name]
        super().log(logs, *args, **kwargs)  # type: ignore[misc]


@functools.cache
def minillm(base: type) -> type:
    """Returns TRL's trainer with these fixes."""
    return type(f"Lab{base.__name__}", (MiniLLM, base), {})
