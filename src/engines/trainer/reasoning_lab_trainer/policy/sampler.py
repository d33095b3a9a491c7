"""Samples completions outside training. Unlike the trainers' own sampling, this uses a separate random stream for
each completion, so results depend only on the seeds and training is not affected.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from .distribution import Drawn, draw, spread
from .stop import first_stop
from .streams import Stream

ROWS = 64
"""Maximum number of completions sampled together."""


@dataclass
class Wish:
    """A requested completion."""

    prompt: list[int]
    seed: str
    limit: int
    """Maximum number of tokens. Generation also ends at the context limit."""


@dataclass
class Sample:
    """Sampled tokens including end-of-sequence, with one entry per token for each requested detail. Values are in
    nats.
    """

    tokens: list[int] = field(default_factory=list)
    ended: bool = False
    """Whether the completion ended with an end-of-sequence token."""
    stopped: bool = False
    logprobs: list[float] = field(default_factory=list)
    entropies: list[float] = field(default_factory=list)
    varentropy: list[float] = field(default_factory=list)
    gini: list[float] = field(default_factory=list)
    variance: list[float] = field(default_factory=list)
    top: list[list[tuple[int, float]]] = field(default_factory=list)


@dataclass
class Manner:
    """Sampling settings shared by all completions in a request."""

    temperature: float
    top_p: float = 1.0
    stop: list[str] = field(default_factory=list)
    detail: bool = False
    """Whether to return statistics of each token's distribution."""
    alternatives: int = 0


class SamplingCancelled(Exception):
    """Raised when sampling is cancelled. Not an error."""


def never() -> bool:
    return False


class Sampler:
    """Samples from a causal language model in evaluation mode."""

    def __init__(self, model: Any, tokenizer: Any, context: int) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._context = context
        self._device = next(model.parameters()).device
        base = model.get_base_model() if hasattr(model, "get_base_model") else model
        accepted = inspect.signature(base.forward).parameters
        self._last_alone = {"logits_to_keep": 1} if "logits_to_keep" in accepted else {}
        self._places = "position_ids" in accepted
        self._ends = ends_of(model, tokenizer)

    @torch.no_grad()
    def sample(self, wishes: list[Wish], manner: Manner, cancelled: Callable[[], bool] = never) -> list[Sample]:
        """Returns one sample per entry in `wishes`, in the same order. Raises SamplingCancelled if `cancelled` returns
        true before a token.
        """
        samples = [Sample() for _ in wishes]
        # Rows of equal length need no padding, so sample similar lengths together.
        order = sorted(range(len(wishes)), key=lambda i: len(wishes[i].prompt))
        for part in parts(order, ROWS):
            self._sample_together([wishes[i] for i in part], [samples[i] for i in part], manner, cancelled)
        return samples

    def _sample_together(
        self, wishes: list[Wish], samples: list[Sample], manner: Manner, cancelled: Callable[[], bool]
    ) -> None:
        streams = [Stream(wish.seed) for wish in wishes]
        limits = [min(wish.limit, self._context - len(wish.prompt)) for wish in wishes]
        alive = [i for i in range(len(wishes)) if limits[i] > 0]
        if not alive:
            return
        width = max(len(wishes[i].prompt) for i in alive)
        fill = self._tokenizer.pad_token_id or 0
        ids = torch.tensor(
            [[fill] * (width - len(wishes[i].prompt)) + wishes[i].prompt for i in alive], device=self._device
        )
        mask = torch.tensor(
            [[0] * (width - len(wishes[i].prompt)) + [1] * len(wishes[i].prompt) for i in alive], device=self._device
        )
        cache = None
        while True:
            if cancelled():
                raise SamplingCancelled
            given: dict[str, Any] = {"input_ids": ids, "attention_mask": mask, "past_key_values": cache}
            if self._places:
                given["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)[:, -ids.shape[1] :]
            output = self._model(**given, **self._last_alone, use_cache=True)
            cache = output.past_key_values
            numbers = [0.0 if manner.temperature == 0 else streams[i].next() for i in alive]
            drawn = draw(output.logits[:, -1, :], manner.temperature, manner.top_p, numbers)
            tokens = self._record(drawn, [samples[i] for i in alive], manner)
            going = [place for place, i in enumerate(alive) if not self._is_over(samples[i], limits[i], manner.stop)]
            if not going:
                return
            if len(going) < len(alive):
                kept = torch.tensor(going, device=self._device)
                tokens, mask = tokens[kept], mask[kept]
                cache.batch_select_indices(kept)
                alive = [alive[place] for place in going]
            ids = tokens.unsqueeze(1)
            mask = torch.cat([mask, mask.new_ones((len(alive), 1))], dim=1)

    def _record(self, drawn: Drawn, samples: list[Sample], manner: Manner) -> torch.Tensor:
        lists = {"logprobs": drawn.logprobs.tolist(), "entropies": drawn.entropies.tolist()}
        if manner.detail:
            lists |= {name: values.tolist() for name, values in spread(drawn.logs).items()}
        tokens: list[int] = drawn.tokens.tolist()
        tops: list[list[tuple[int, float]]] | None = None
        if manner.alternatives > 0:
            best = drawn.logs.topk(min(manner.alternatives, drawn.logs.shape[1]), dim=-1)
            tops = [
                [(token, logprob) for token, logprob in zip(ids, values, strict=True) if logprob > -1e30]
                for ids, values in zip(best.indices.tolist(), best.values.tolist(), strict=True)
            ]
        for row, sample in enumerate(samples):
            sample.tokens.append(tokens[row])
            for name, values in lists.items():
                getattr(sample, name).append(values[row])
            if tops is not None:
                sample.top.append(tops[row])
        return drawn.tokens

    def _is_over(self, sample: Sample, limit: int, stop: list[str]) -> bool:
        sample.ended = sample.tokens[-1] in self._ends
        if sample.ended or len(sample.tokens) >= limit:
            return True
        if stop:
            # Only the end of the text can contain a new stop string, and every token contributes at least one byte.
            recent = sample.tokens[-(max(len(text.encode()) for text in stop) + 4) :]
            sample.stopped = first_stop(self._tokenizer.decode(recent), stop) is not None
        return sample.stopped


def ends_of(model: Any, tokenizer: Any) -> set[int]:
    """Returns the tokens that end a completion, from the tokenizer and the model's generation config."""
    own = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    named = own if isinstance(own, (list, tuple)) else [own]
    return {token for token in [tokenizer.eos_token_id, *named] if token is not None}


def parts(order: list[int], most: int) -> Iterator[list[int]]:
    for start in range(0, len(order), most):
        yield order[start : start + most]
