"""Generation batch metrics that TRL does not log. Names are documented in docs/metrics.md."""

from __future__ import annotations

import math
from typing import Any

import torch
from trl.trainer.utils import nanstd


def total_rewards(rewards: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Returns the weighted sum of the rewards that apply to each row, and NaN for a row without any, as in TRL.
    `rewards`: [rows, columns], with NaN where a column does not apply.
    """
    total = (rewards * weights).nansum(dim=1)
    total[torch.isnan(rewards).all(dim=1)] = math.nan
    return total


def reward_metrics(rewards: torch.Tensor, weights: torch.Tensor, group: int) -> dict[str, float | None]:
    """Computes metrics from `rewards` [completions, columns] across all processes, with NaN where a column does not
    apply. Standard deviations are sample standard deviations (n - 1). The reward is TRL's weighted sum of the columns
    that apply.
    """
    total = total_rewards(rewards.detach().double().cpu(), weights.double().cpu())
    valid = total[~torch.isnan(total)]
    metrics: dict[str, float | None] = {
        "reward_max": number(valid.max()) if len(valid) else None,
        "reward_min": number(valid.min()) if len(valid) else None,
    }
    if len(total) % group == 0:
        groups = total.view(-1, group)
        counts = (~torch.isnan(groups)).sum(dim=1)
        mean = torch.nanmean(groups, dim=1, keepdim=True)
        variance = torch.nansum((groups - mean) ** 2, dim=1) / (counts - 1)
        deviations = variance[counts > 1].sqrt()
        metrics["group_reward_std"] = number(deviations.mean()) if len(deviations) else None
        nan = torch.isnan(groups)
        low = groups.masked_fill(nan, math.inf).min(dim=1).values
        high = groups.masked_fill(nan, -math.inf).max(dim=1).values
        # Fewer than two rewards, or equal rewards: no gradient, regardless of reward scaling.
        metrics["groups/dead"] = number(((counts < 2) | (low == high)).double().mean())
    return metrics


def trl_reward_metrics(
    rewards: torch.Tensor, weights: torch.Tensor, names: list[str], group: int
) -> dict[str, float | None]:
    """Computes the reward metrics that GRPOTrainer logs. Same arguments as `reward_metrics`."""
    metrics: dict[str, float | None] = {}
    for column, name in enumerate(names):
        metrics[f"rewards/{name}/mean"] = number(rewards[:, column].nanmean())
        metrics[f"rewards/{name}/std"] = number(nanstd(rewards[:, column]))
    total = total_rewards(rewards, weights)
    metrics["reward"] = number(total.nanmean())
    metrics["reward_std"] = number(nanstd(total))
    deviations = nanstd(total.view(-1, group), dim=1)
    metrics["frac_reward_zero_std"] = number(torch.isclose(deviations, torch.zeros_like(deviations)).float().mean())
    return metrics


def completion_metrics(completion_ids: list[list[int]], truncated: list[bool]) -> dict[str, float | None]:
    """Computes the metrics of completion lengths that GRPOTrainer logs, in tokens."""
    lengths = [len(ids) for ids in completion_ids]
    ended = [length for length, cut in zip(lengths, truncated, strict=True) if not cut] or [0]
    metrics: dict[str, float | None] = {"completions/clipped_ratio": sum(truncated) / len(truncated)}
    for kind, values in (("length", lengths), ("terminated_length", ended)):
        metrics[f"completions/mean_{kind}"] = sum(values) / len(values)
        metrics[f"completions/min_{kind}"] = float(min(values))
        metrics[f"completions/max_{kind}"] = float(max(values))
    return metrics


def number(value: Any) -> float | None:
    value = float(value)
    return value if math.isfinite(value) else None
