"""DPPO, which TRL 1.13 lacks: CISPO without the tokens whose probability has moved too far."""

from __future__ import annotations

from typing import Any

import torch

WEIGHT_LIMIT = 20.0
"""Maximum importance weight."""

UPPER = "epsilon_high"
"""Trainer attribute with the upper bound, which CISPO uses as the maximum weight."""


def allowed(
    logprobs: torch.Tensor, old: torch.Tensor, advantages: torch.Tensor, low: float, high: float, kind: str
) -> torch.Tensor:
    """
    Returns the mask of tokens to train on. It excludes tokens whose probability has moved by more than `high` (positive
    advantages) or `low` (others) in the direction of their advantage. The distance between the old and new
    probabilities of a token is their total variation (`dppo_tv`) or KL divergence (`dppo_kl`). Same as `divergedSide`
    in src/core/grpo/objective/dppo.ts (arXiv:2602.04879).
    `logprobs`, `old`: shape (rows, tokens), in nats. `advantages`: shape (rows, 1) or (rows, tokens).
    """
    now, before = logprobs.exp(), old.exp()
    if kind == "dppo_tv":
        divergence = (now - before).abs()
    else:
        others = torch.log((1 - before + 1e-8) / (1 - now + 1e-8))
        divergence = before * (old - logprobs) + (1 - before) * others
    up = (now <= before) | (divergence <= high)
    down = (now >= before) | (divergence <= low)
    return torch.where(advantages > 0, up, down)


class Dppo:
    """Mixin for GRPOTrainer with `loss_type` "cispo". Must come before the trainer class."""

    _dppo_inputs: dict[str, Any] | None = None

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Any:
        high: float = getattr(self, UPPER)
        self._dppo_inputs = dict(inputs)
        self._dppo_bounds: tuple[float, float] = (self.epsilon_low, high)  # type: ignore[attr-defined]
        setattr(self, UPPER, WEIGHT_LIMIT)
        try:
            return super()._compute_loss(model, self._dppo_inputs)  # type: ignore[misc]
        finally:
            setattr(self, UPPER, high)
            self._dppo_inputs = None

    def _get_per_token_logps_and_entropies(self, *args: Any, **kwargs: Any) -> Any:
        result = super()._get_per_token_logps_and_entropies(*args, **kwargs)  # type: ignore[misc]
        inputs = self._dppo_inputs
        if inputs is not None:
            # TRL reads the advantages after this call, and accepts one per token.
            self._dppo_inputs = None
            logprobs = result[0].detach()
            old = inputs.get("old_per_token_logps")
            advantages = inputs["advantages"]
            advantages = advantages.unsqueeze(1) if advantages.dim() == 1 else advantages
            kind = self.lab_stage.settings["loss_type"]  # type: ignore[attr-defined]
            kept = allowed(logprobs, logprobs if old is None else old, advantages, *self._dppo_bounds, kind)
            inputs["advantages"] = advantages * kept
            mask = inputs["completion_mask"]
            left_out = ((~kept) * mask).sum() / mask.sum().clamp(min=1)
            self._metrics["train"]["clip_ratio/region_mean"].append(  # type: ignore[attr-defined]
                self.accelerator.gather(left_out).mean().item()  # type: ignore[attr-defined]
            )
        return result
