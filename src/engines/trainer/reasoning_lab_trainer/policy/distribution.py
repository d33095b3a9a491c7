"""Samples from next-token distributions, one per row."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass
class Drawn:
    """Tensors with one entry per row. Log-probabilities and entropies are in nats."""

    tokens: torch.Tensor
    logprobs: torch.Tensor
    entropies: torch.Tensor
    logs: torch.Tensor
    """log softmax(logits / temperature), [rows, vocabulary]."""


def draw(logits: torch.Tensor, temperature: float, top_p: float, numbers: list[float]) -> Drawn:
    """
    Samples one token per row of `logits` [rows, vocabulary], using one random number in [0, 1) per row. Temperature
    0 is greedy, with log-probabilities at temperature 1. `top_p` keeps the smallest set of most likely tokens whose
    total probability reaches it (Holtzman et al. 2020, eq. 2). Returned statistics refer to the full distribution, as
    in `src/engines/embedded/compute/tokenChooser.ts`.
    """
    greedy = temperature == 0
    logs = torch.log_softmax(logits.float() if greedy else logits.float() / temperature, dim=-1)
    probabilities = logs.exp()
    entropies = -(probabilities * logs.masked_fill(probabilities == 0, 0)).sum(-1)
    if greedy:
        tokens = logs.argmax(-1)
    else:
        u = torch.tensor(numbers, dtype=torch.float64, device=logits.device).unsqueeze(1)
        weights = probabilities if logits.device.type == "mps" else probabilities.double()
        u = u.to(weights.dtype)
        tokens = in_nucleus(weights, top_p, u) if top_p < 1 else at(weights, u)
    return Drawn(tokens, logs.gather(1, tokens.unsqueeze(1)).squeeze(1), entropies, logs)


def at(weights: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """Returns, for each row, the index at which the cumulative weight reaches fraction `u` of the total. Never returns
    an index with zero weight.
    """
    sums = weights.cumsum(-1)
    places = torch.searchsorted(sums, u * sums[:, -1:], right=True).squeeze(1)
    # Rounding can select an index after the last token with positive weight.
    last = weights.shape[1] - 1 - (weights.flip(-1) > 0).int().argmax(-1)
    return torch.minimum(places, last)


def in_nucleus(weights: torch.Tensor, top_p: float, u: torch.Tensor) -> torch.Tensor:
    ordered, order = weights.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(-1) - ordered
    kept = ordered * (before < top_p * ordered.sum(-1, keepdim=True))
    kept[:, 0] = ordered[:, 0]
    return order.gather(1, at(kept, u).unsqueeze(1)).squeeze(1)


def spread(logs: torch.Tensor) -> dict[str, torch.Tensor]:
    """Returns the varentropy, Gini coefficient and variance of each row, as defined in
    `src/core/search/distribution.ts`.
    """
    n = logs.shape[-1]
    # Apple GPUs do not support float64.
    p = (logs if logs.device.type == "mps" else logs.double()).exp()
    finite = logs.masked_fill(p == 0, 0).to(p.dtype)
    entropy = -(p * finite).sum(-1)
    ranks = 2 * torch.arange(n, device=p.device, dtype=p.dtype) + 1 - n
    return {
        "varentropy": ((p * finite.square()).sum(-1) - entropy.square()).clamp(min=0),
        "gini": (p.sort(-1).values * ranks).sum(-1) / n,
        "variance": (p.square().sum(-1) / n - 1 / (n * n)).clamp(min=0),
    }
