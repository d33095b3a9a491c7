"""Advantage estimators that TRL lacks. Same definitions as in src/core/grpo/advantages."""

from __future__ import annotations

from math import comb
from typing import Any

import torch
from trl.trainer.utils import nanstd

from .batch_metrics import total_rewards


def max_rl(rewards: torch.Tensor) -> torch.Tensor:
    """
    MaxRL (Tajwar et al. 2026, arXiv:2602.02710, algorithm 1): (r - mean) / (mean + 1e-6), or 0 if the mean is not
    positive. `rewards`: the known rewards of one group, shape (n,).
    """
    center = rewards.mean()
    return (rewards - center) / (center + 1e-6) if center > 0 else torch.zeros_like(rewards)


def pass_at_k(rewards: torch.Tensor, k: int) -> torch.Tensor:
    """
    Pass@k (Chen et al. 2025, arXiv:2508.10751): the normalized reward of the best of k completions, averaged over all
    sets of k that contain the completion. `rewards`: the known rewards of one group, shape (n,).
    """
    n = len(rewards)
    size = min(k, n)
    ordered, order = rewards.sort()
    if ordered[size - 1] == ordered[-1]:
        # Every set has the same best reward.
        return torch.zeros_like(rewards)
    # Per rank: number of sets whose best completion has that rank, in total and with a given lower-ranked completion.
    best = torch.tensor([comb(m, size - 1) for m in range(n)], dtype=rewards.dtype, device=rewards.device)
    above = torch.tensor(
        [comb(m - 1, size - 2) if m > 0 and size > 1 else 0 for m in range(n)],
        dtype=rewards.dtype,
        device=rewards.device,
    )
    shares = best / comb(n, size)
    center = (ordered * shares).sum()
    deviation = (((ordered - center) ** 2) * shares).sum().sqrt()
    weighted = ordered * above
    higher = weighted.sum() - weighted.cumsum(0)
    means = (ordered * best + higher) / comb(n - 1, size - 1)
    values = torch.empty_like(rewards)
    values[order] = (means - center) / (deviation + 1e-6)
    return values


def group_advantages(scored: torch.Tensor, weights: torch.Tensor, size: int, settings: dict[str, Any]) -> torch.Tensor:
    """
    Advantages of a batch, one per row, as in GRPOTrainer (TRL 1.13): the weighted sum of the rewards minus the mean of
    the group, divided by the standard deviation that `scale_rewards` names. Rows without a reward have advantage 0.
    `scored`: [rows, reward columns], with NaN where a reward does not apply; `size`: consecutive rows per group.
    """
    sums = total_rewards(scored, weights)
    if settings.get("advantage_estimator", "grpo") != "grpo":
        return own_advantages(scored, weights, size, settings).to(scored.dtype)
    groups = sums.view(-1, size)
    centered = groups - groups.nanmean(dim=1, keepdim=True)
    scale = settings.get("scale_rewards", "group")
    if scale != "none":
        centered = centered / ((nanstd(groups, dim=1, keepdim=True) if scale == "group" else nanstd(sums)) + 1e-4)
    return centered.nan_to_num(nan=0.0).flatten()


def own_advantages(scored: torch.Tensor, weights: torch.Tensor, size: int, settings: dict[str, Any]) -> torch.Tensor:
    """Advantages of a batch with an estimator that TRL lacks, in float64. Same arguments as `group_advantages`."""
    k = settings.get("pass_k", min(4, size))
    sums = total_rewards(scored.double(), weights)
    unknown = scored.isnan().all(dim=1)
    values = torch.zeros_like(sums)
    for start in range(0, len(sums), size):
        known = torch.arange(start, start + size, device=sums.device)[~unknown[start : start + size]]
        rewards = sums[known]
        if len(rewards) > 1 and bool((rewards != rewards[0]).any()):
            is_max_rl = settings["advantage_estimator"] == "maxrl"
            values[known] = max_rl(rewards) if is_max_rl else pass_at_k(rewards, k)
    return values


class Advantages:
    """Mixin for GRPOTrainer. Must come before the trainer class. Replaces the advantages if the stage has its own
    estimator.
    """

    def _calculate_rewards(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        self._scored: torch.Tensor = super()._calculate_rewards(*args, **kwargs)  # type: ignore[misc]
        return self._scored

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)  # type: ignore[misc]
        settings = self.lab_stage.settings  # type: ignore[attr-defined]
        if settings.get("advantage_estimator", "grpo") == "grpo":
            return output
        device = output["advantages"].device
        weights = self.reward_weights.to(self._scored.device)  # type: ignore[attr-defined]
        values = own_advantages(self._scored, weights, self.num_generations, settings)  # type: ignore[attr-defined]
        first = self.accelerator.process_index * len(inputs)  # type: ignore[attr-defined]
        own = output["advantages"]
        output["advantages"] = values[first : first + len(inputs)].to(device=device, dtype=own.dtype)
        relog(self, values.tolist())
        return output


def relog(trainer: Any, values: list[float]) -> None:
    """Replaces the advantages of the latest batch in TRL's table of completions."""
    logged = trainer._logs["advantages"]
    for _ in range(min(len(values), len(logged))):
        logged.pop()
    logged.extend(values)
