"""Advantages per turn (`credit_assignment: "turn"`). TRL's losses accept one advantage per token."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

from .advantages import relog

STD_EPSILON = 1e-4
"""Added to standard deviations, as in TRL."""

ROUNDING = 1e-9
"""Two returns that differ by less are treated as equal, because the difference is rounding error."""


@dataclass(frozen=True)
class RewardedTurns:
    """An episode with the rewards of its turns."""

    reward: float | None
    """Weighted reward of the whole episode, or None if it is unknown."""
    turns: list[float | None]
    """Weighted reward of each turn, which is part of `reward`; None if the turn has none of its own."""


def returns_of_turns(reward: float, turns: list[float | None]) -> list[float]:
    """Computes the return from each turn onward: the episode's reward minus the rewards of earlier turns."""
    returns = []
    for earned in turns:
        returns.append(reward)
        reward -= earned or 0.0
    return returns


def turn_advantages(rows: list[RewardedTurns], group_size: int, scale: str) -> list[list[float]]:
    """
    Computes one advantage per turn for each episode: undiscounted returns (GTPO, arXiv:2511.14846), centered on the
    mean of the same turn in the group (MT-GRPO, arXiv:2505.11821), divided by one standard deviation across all turns.
    Same as `turnAdvantages` in src/core/grpo/advantages/turnAdvantages.ts, which has the formula.

    :param rows: the rows of each group are contiguous
    :param scale: `group`, `batch` or `none`
    """
    centered = [[0.0] * len(row.turns) for row in rows]
    pools: list[tuple[float, int]] = []
    for first in range(0, len(rows), group_size):
        group = {
            place: returns_of_turns(row.reward, row.turns)
            for place, row in enumerate(rows[first : first + group_size], first)
            if row.reward is not None
        }
        pools.append(center(group, centered))
    whole = (sum(squares for squares, _ in pools), sum(freedom for _, freedom in pools))
    advantages = []
    for place, differences in enumerate(centered):
        squares, freedom = whole if scale == "batch" else pools[place // group_size]
        divisor = 1.0 if scale == "none" else math.sqrt(squares / max(1, freedom)) + STD_EPSILON
        advantages.append([difference / divisor for difference in differences])
    return advantages


def center(group: dict[int, list[float]], centered: list[list[float]]) -> tuple[float, int]:
    """Writes each return's difference from the mean of its turn to `centered`. Returns the sum of squared
    differences and the degrees of freedom.

    :param group: returns of each turn, keyed by the episode's row
    """
    squares, freedom = 0.0, 0
    for k in range(max((len(one) for one in group.values()), default=0)):
        values = [one[k] for one in group.values() if k < len(one)]
        mean = sum(values) / len(values)
        freedom += len(values) - 1
        for place, one in group.items():
            if k < len(one) and abs(one[k] - mean) >= ROUNDING:
                centered[place][k] = one[k] - mean
                squares += centered[place][k] ** 2
    return squares, freedom


def turn_lengths(mask: list[int]) -> list[int]:
    """Returns the number of tokens that the policy generated in each turn.

    :param mask: 0 for tokens that come from the environment, where turns end
    """
    lengths: list[int] = []
    for place, own in enumerate(mask):
        if own and (place == 0 or not mask[place - 1]):
            lengths.append(0)
        if own:
            lengths[-1] += 1
    return lengths


def tokens_of_turns(mask: list[int], turns: list[float]) -> list[float]:
    """Returns the advantage of each token: 0 for tokens that come from the environment."""
    own = iter([value for length, value in zip(turn_lengths(mask), turns, strict=True) for _ in range(length)])
    return [next(own) if trained else 0.0 for trained in mask]


def rewarded_turns(mask: list[int], episode: dict[str, Any], reward: float | None, weight: float) -> RewardedTurns:
    """
    :param episode: as recorded in rollouts. A last turn without calls has no reward of its own
    :param weight: weight of the environment's reward, which includes the turn rewards
    """
    earned = [turn.get("reward") for turn in episode["turns"]]
    earned += [None] * (len(turn_lengths(mask)) - len(earned))
    return RewardedTurns(reward, [None if one is None else weight * one for one in earned])


class TurnCredit:
    """Mixin for GRPOTrainer. Must come before the trainer class and after `Sampling`. Replaces the advantages of a
    batch, shape (rows,), with those of its tokens, shape (rows, tokens). Processes share the rewards of their turns,
    because a group can be split between them.
    """

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)  # type: ignore[misc]
        settings = self.lab_stage.settings  # type: ignore[attr-defined]
        if settings.get("credit_assignment") != "turn":
            return output
        size: int = self.num_generations  # type: ignore[attr-defined]
        recipe = self.lab.recipe  # type: ignore[attr-defined]
        weight = sum(one["weight"] for one in recipe["rewards"] if one.get("use") == "environment")
        masks: list[list[int]] = self._masks  # type: ignore[attr-defined]
        episodes = self.recorded_episodes()  # type: ignore[attr-defined]
        scored = self.columns.scored  # type: ignore[attr-defined]
        rows = [
            rewarded_turns(mask, episode, row["reward"], weight)
            for mask, episode, row in zip(masks, episodes, scored, strict=True)
        ]
        shared = self.lab.world.share(rows)  # type: ignore[attr-defined]
        every = turn_advantages([row for of_rank in shared for row in of_rank], size, settings["scale_rewards"])
        first_row = sum(map(len, shared[: self.lab.world.rank]))  # type: ignore[attr-defined]
        turns = every[first_row : first_row + len(rows)]
        own = output["advantages"]
        values = torch.zeros(output["completion_ids"].shape, dtype=own.dtype)
        means = []
        for row, (mask, of_row) in enumerate(zip(masks, turns, strict=True)):
            tokens = torch.tensor(tokens_of_turns(mask, of_row), dtype=own.dtype)
            values[row, : len(mask)] = tokens
            means.append(float(tokens.sum()) / max(1, sum(mask)))
        output["advantages"] = values.to(own.device)
        relog(self, [mean for of_rank in self.lab.world.share(means) for mean in of_rank])  # type: ignore[attr-defined]
        dead = [not any(map(any, every[first : first + size])) for first in range(0, len(every), size)]
        self._report["groups/dead"] = sum(dead) / len(dead)  # type: ignore[attr-defined]
        return output
