"""Samples generation batches in a thread while training continues, with a copy of the policy's weights."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ..failure import Failure
from ..policy.access import arithmetic
from ..policy.sampler import Manner, Sampler, Wish

if TYPE_CHECKING:
    from ..course.context import Context

AHEAD = "ahead.json"
"""File with the batches that were sampled before a checkpoint and not trained on yet."""


@dataclass
class Completion:
    """Sampled tokens including end-of-sequence, with their log-probabilities in nats."""

    tokens: list[int]
    logprobs: list[float]


@dataclass
class SampledBatch:
    version: int
    """Updates of the stage before the weights that sampled it."""
    completions: list[Completion]


class BatchesAhead:
    """
    Batch `b` of a stage with `updates` updates per batch is sampled with the weights from before update
    `(b - ahead) * updates`, or the first ones. Which weights sample a batch therefore does not depend on the speed of
    the machine, and every completion has its own random stream, so results do not, either.

    `wishes` returns the completions to sample for a batch. It is called in the training thread.
    """

    def __init__(
        self, context: Context, manner: Manner, wishes: Callable[[int], list[Wish]], *, batches: int, ahead: int
    ) -> None:
        policy = context.policy
        self._context = context
        self._manner = manner
        self._wishes = wishes
        self._count = batches
        self._ahead = ahead
        self._model: Any = policy.reference()
        self._sampler = Sampler(self._model, policy.tokenizer, policy.context)
        self._batches: dict[int, tuple[int, Future[SampledBatch]]] = {}
        """Version and result of each batch that has been requested and not trained on."""
        self._cancelled = threading.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sampler")

    def earlier(self, first: int) -> range:
        """Returns the batches that are sampled with weights from before the first update on batch `first`."""
        return range(first, min(first + self._ahead, self._count))

    def begin(self, saved: dict[int, SampledBatch]) -> None:
        """Restores the batches that were saved in a checkpoint."""
        for index, batch in saved.items():
            done: Future[SampledBatch] = Future()
            done.set_result(batch)
            self._batches[index] = (batch.version, done)

    def take_weights(self, weights: Iterator[tuple[str, torch.Tensor]], version: int) -> None:
        """Copies the policy's current weights. Waits for the batches that were requested with earlier ones."""
        for _, sampled in self._batches.values():
            sampled.exception()
        own = dict(self._model.named_parameters())
        with torch.no_grad():
            for name, value in weights:
                own[name].copy_(value)
        self._version = version

    def request(self, current: int) -> None:
        """Requests the batches up to `ahead` after batch `current`, with the weights that were copied last."""
        for index in range(current, min(current + self._ahead + 1, self._count)):
            if index not in self._batches:
                sampled = self._thread.submit(self._sample, self._wishes(index), self._version)
                self._batches[index] = (self._version, sampled)

    def batch(self, index: int) -> SampledBatch:
        """Waits for a batch. Raises the error with which its sampling failed."""
        return self._batches[index][1].result()

    def forget(self, before: int) -> None:
        """Removes the batches before an index, which have been trained on."""
        for index in [index for index in self._batches if index < before]:
            del self._batches[index]

    def save(self, folder: Path, first: int) -> None:
        """Writes the batches from `first` on that cannot be sampled again with the current weights."""
        older = {
            index: sampled.result()
            for index, (version, sampled) in self._batches.items()
            if index >= first and version < self._version and sampled.exception() is None
        }
        (folder / AHEAD).write_text(json.dumps({str(index): asdict(batch) for index, batch in older.items()}))

    def close(self) -> None:
        """Stops sampling."""
        self._cancelled.set()
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _sample(self, wishes: list[Wish], version: int) -> SampledBatch:
        with arithmetic(self._context, self._model):
            samples = self._sampler.sample(wishes, self._manner, self._cancelled.is_set)
        return SampledBatch(version, [Completion(sample.tokens, sample.logprobs) for sample in samples])


def saved_batches(folder: str) -> dict[int, SampledBatch]:
    """Returns the batches in the trainer part of a checkpoint. Raises Failure `corrupt`."""
    path = Path(folder) / AHEAD
    if not path.is_file():
        return {}
    try:
        return {
            int(index): SampledBatch(
                int(batch["version"]),
                [Completion([int(id) for id in one["tokens"]], one["logprobs"]) for one in batch["completions"]],
            )
            for index, batch in json.loads(path.read_text()).items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Failure("corrupt", f"Cannot read {path}: {error}.", "Resume from another checkpoint.") from error
