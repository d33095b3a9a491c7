"""A generation batch as logged: all completions with groups, rewards, advantages and token details."""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..link.framing import as_json
from ..link.messages import ScoredRow
from .environments import observed
from .pieces import Pieces


@dataclass
class GenerationBatch:
    """Rows from a single process, in TRL's order. Tensors have shape [rows, completion tokens]."""

    inputs: list[dict[str, Any]]
    """`problem`, `prompt`, `answer` and `row` for each row."""
    first_row: int
    """Index of the first row in the batch across all processes."""
    completions: list[Any] = field(default_factory=list)
    completion_ids: list[list[int]] = field(default_factory=list)
    scored: list[ScoredRow] = field(default_factory=list)
    advantages: torch.Tensor | None = None
    """One per row, or one per token with shape [rows, completion tokens]."""
    sampling: torch.Tensor | None = None
    """Log-probabilities from the sampler, if the sampler is a separate program (vLLM)."""
    old: torch.Tensor | None = None
    reference: torch.Tensor | None = None
    prompts: list[Any] | None = None
    """Prompts with the observations that environments appended; None without an environment."""
    masks: list[list[int]] | None = None
    """0 for tokens that come from an environment, 1 for those from the policy."""
    episodes: list[dict[str, Any]] | None = None
    """Each row's episode; None without an environment."""
    pictures: list[dict[str, Any]] | None = None
    """Each row's picture, as `file`, `width` and `height`; None without pictures."""
    version: int | None = None
    """Updates of the run before the weights that sampled the batch, if they can be older than the policy."""
    picture_files: list[dict[str, str]] = field(default_factory=list)
    """Copies of pictures that the driver does not have yet."""
    forward: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = field(default_factory=list)
    """Rows, log-probabilities and entropies from the first update."""

    @property
    def on_cpu(self) -> bool:
        return all(logprobs.device.type == "cpu" for _, logprobs, _ in self.forward)

    def block(self, step: int, stage: str, group_size: int, tokens: bool, pieces: Pieces) -> str:
        """Serializes the rollouts as link JSON (`rolloutBlockSchema`). Includes tokens only if requested."""
        block: dict[str, Any] = {"lines": self._lines(step, stage, group_size, tokens, pieces.ends)}
        if tokens:
            block["tokens"] = {**self._texts(pieces), "numbers": self._numbers()}
        if self.picture_files:
            block["pictures"] = self.picture_files
        return as_json(block)

    def _lines(
        self, step: int, stage: str, group_size: int, tokens: bool, ends: tuple[int | None, ...]
    ) -> list[dict[str, Any]]:
        advantages = self._of_rows()
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
                "prompt": given["prompt"] if self.prompts is None else self.prompts[i],
                "completion": self.completions[i],
                "answer": given["answer"],
                "row": given["row"],
                "rewards": scored["rewards"],
                "reward": scored["reward"],
                "advantage": advantages[i],
                "truncated": not ids or ids[-1] not in ends,
            }
            extra: dict[str, Any] = {}
            if tokens:
                line["tokens"] = len(ids)
            else:
                extra["length"] = len(ids)
            if self.episodes is not None:
                extra["episode"] = self.episodes[i]
            if self.masks is not None:
                extra["observed"] = observed(self.masks[i])
            if self.pictures is not None:
                extra["picture"] = self.pictures[i]
            if scored["errors"]:
                extra["errors"] = scored["errors"]
            if extra:
                line["extra"] = extra
            lines.append(line)
        return lines

    def _of_rows(self) -> list[float | None]:
        """Returns one advantage per row. Per-token advantages are averaged over the policy's tokens."""
        if self.advantages is None:
            return [None] * len(self.inputs)
        if self.advantages.dim() == 1:
            return list(self.advantages.tolist())
        lengths = [sum(mask) for mask in self.masks or []]
        sums = self.advantages.double().sum(dim=1).tolist()
        return [total / max(1, length) for total, length in zip(sums, lengths, strict=True)]

    def _texts(self, pieces: Pieces) -> dict[str, Any]:
        texts = [piece for ids in self.completion_ids for piece in pieces.of(ids)]
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        return {"pieces": list(places), "text": in_base64(np.array([places[text] for text in texts], "<u4"))}

    def _numbers(self) -> dict[str, str]:
        """Returns token values. Log-probabilities come from the sampler or, if it does not provide them, from the
        policy before the first update on the batch. Values that TRL did not compute are NaN or absent.
        """
        lengths = np.array([len(ids) for ids in self.completion_ids], dtype=np.int64)
        width = int(lengths.max(initial=0))
        there = np.arange(width) < lengths[:, None]

        def listed(values: NDArray[np.float32]) -> str:
            return in_base64(values[:, :width][there].astype("<f4", copy=False))

        lists: dict[str, str] = {}
        logprob = listed(self._of_forward(1, width) if self.old is None else array_of(self.old))
        if self.sampling is not None:
            lists["logprob"] = listed(array_of(self.sampling))
            lists["oldLogprob"] = logprob
        else:
            lists["logprob"] = logprob
            if self.old is not None:
                lists["oldLogprob"] = logprob
        if self.reference is not None:
            lists["refLogprob"] = listed(array_of(self.reference))
        if self.advantages is not None and self.advantages.dim() == 2:
            lists["advantage"] = listed(array_of(self.advantages))
        if self.version is not None:
            lists["version"] = listed(np.full((len(self.inputs), width), self.version, dtype=np.float32))
        if self.forward:
            lists["entropy"] = listed(self._of_forward(2, width))
        return lists

    def sampler_differences(self) -> dict[str, float | None]:
        """Returns the absolute differences of the log-probabilities of sampler and policy at the first update, in nats,
        with TRL's names.
        """
        if self.sampling is None or not self.forward:
            return {}
        differences = np.abs(self._of_forward(1, self.sampling.shape[1]) - array_of(self.sampling))
        known = differences[np.isfinite(differences)]
        mean, largest = (float(known.mean()), float(known.max())) if known.size else (None, None)
        return {
            "sampling/sampling_logp_difference/mean": mean,
            "sampling/sampling_logp_difference/max": largest,
        }

    def _of_forward(self, which: int, width: int) -> NDArray[np.float32]:
        """Combines values from the first update, whose parts contain the rows in arbitrary order and with varying
        padding.
        """
        whole = np.full((len(self.inputs), width), math.nan, dtype=np.float32)
        for part in self.forward:
            values = array_of(part[which])
            columns = min(width, values.shape[1])
            whole[part[0].cpu().numpy(), :columns] = values[:, :columns]
        return whole


def array_of(values: torch.Tensor) -> NDArray[np.float32]:
    return values.detach().float().cpu().numpy()


def in_base64(values: NDArray[Any]) -> str:
    return base64.b64encode(values.tobytes()).decode()
