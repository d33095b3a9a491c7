"""
One generation batch as the run keeps it: all completions with groups, rewards, advantages and what is known of each
token.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch

from ..link.framing import as_json
from ..link.messages import ScoredRow
from .pieces import Pieces

UNITS = 1_000_000
"""
Logged numbers of tokens are whole, so many to the nat (`tokenUnits` of the link): f32 ones are no better, and these
are written in a fraction of the time.
"""

Numbers = tuple[list[float | None], dict[str, list[list[int | None]]] | None]
"""The advantage of each row, and by name what is known of its tokens; None: that is not wanted."""


@dataclass
class GenerationBatch:
    """Rows of one process, in TRL's order. Tensors are [rows, completion tokens]."""

    inputs: list[dict[str, Any]]
    """`problem`, `prompt`, `answer`, `row` of each row."""
    first_row: int
    """Place of the first row in the batch of all processes."""
    completions: list[Any] = field(default_factory=list)
    completion_ids: list[list[int]] = field(default_factory=list)
    scored: list[ScoredRow] = field(default_factory=list)
    advantages: torch.Tensor | None = None
    sampling: torch.Tensor | None = None
    """Of the sampler, where that is another program (vLLM)."""
    old: torch.Tensor | None = None
    reference: torch.Tensor | None = None
    forward: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = field(default_factory=list)
    """Of the first update: rows, log-probabilities, entropies."""

    @property
    def on_cpu(self) -> bool:
        return all(logprobs.device.type == "cpu" for _, logprobs, _ in self.forward)

    def text(self, step: int, stage: str, group_size: int, numbers: Numbers, pieces: Pieces) -> str:
        """JSON of `lines`, with commas between them."""
        return as_json(self.lines(step, stage, group_size, numbers, pieces))[1:-1]

    def lines(self, step: int, stage: str, group_size: int, numbers: Numbers, pieces: Pieces) -> list[dict[str, Any]]:
        """
        Lines of rollouts/step_N.jsonl. Log-probabilities are the sampler's, else those of the policy before the batch's
        first update; what TRL did not compute is null.
        """
        advantages, per_token = numbers
        lines: list[dict[str, Any]] = []
        for i, given in enumerate(self.inputs):
            place = self.first_row + i
            scored = self.scored[i]
            ids = self.completion_ids[i]
            line: dict[str, Any] = {
                "step": step,
                "stage": stage,
                "group": place // group_size,
                "index": place % group_size,
                "prompt": given["prompt"],
                "completion": self.completions[i],
                "answer": given["answer"],
                "row": given["row"],
                "rewards": scored["rewards"],
                "reward": scored["reward"],
                "advantage": advantages[i],
                "truncated": not ids or ids[-1] not in pieces.ends,
            }
            extra: dict[str, Any] = {}
            if per_token is None:
                extra["length"] = len(ids)
            else:
                line["tokens"] = {
                    "text": pieces.of(ids),
                    **{name: values[i][: len(ids)] for name, values in per_token.items()},
                }
            if scored["errors"]:
                extra["errors"] = scored["errors"]
            if extra:
                line["extra"] = extra
            lines.append(line)
        return lines

    def numbers(self, tokens: bool) -> Numbers:
        """Advantages, and what is known of each token where `tokens` is wanted."""
        advantages = [None] * len(self.inputs) if self.advantages is None else self.advantages.tolist()
        return advantages, self._per_token() if tokens else None

    def _per_token(self) -> dict[str, list[list[int | None]]]:
        width = max((len(ids) for ids in self.completion_ids), default=0)
        count = len(self.inputs)
        logprob = torch.full((count, width), math.nan)
        entropy = torch.full((count, width), math.nan)
        for rows, logprobs, entropies in self.forward:
            rows = rows.cpu()
            fill(logprob, rows, logprobs)
            fill(entropy, rows, entropies)
        if self.old is not None:
            logprob = on_cpu(self.old, width)
        lists: dict[str, list[list[int | None]]] = {}
        if self.sampling is not None:
            lists["logprob"] = listed(on_cpu(self.sampling, width))
            lists["oldLogprob"] = listed(logprob)
        else:
            lists["logprob"] = listed(logprob)
            if self.old is not None:
                lists["oldLogprob"] = lists["logprob"]
        if self.reference is not None:
            lists["refLogprob"] = listed(on_cpu(self.reference, width))
        if self.forward:
            lists["entropy"] = listed(entropy)
        return lists


def fill(into: torch.Tensor, rows: torch.Tensor, values: torch.Tensor) -> None:
    """Puts rows of a part, which may be padded more or less than the whole, in their places."""
    width = min(into.shape[1], values.shape[1])
    into[rows, :width] = values[:, :width].float().cpu()


def on_cpu(values: torch.Tensor, width: int) -> torch.Tensor:
    return values[:, :width].detach().float().cpu()


def listed(values: torch.Tensor) -> list[list[int | None]]:
    """In `UNITS`; None for what JSON cannot hold."""
    scaled = torch.round(values.double() * UNITS)
    if torch.isfinite(scaled).all():
        return scaled.long().tolist()
    return [[int(value) if math.isfinite(value) else None for value in row] for row in scaled.tolist()]
