"""Bytes of the tensors that are alive, by what PyTorch itself allocates: resident memory would be noise."""

from __future__ import annotations

import weakref
from types import TracebackType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class LiveMemory(TorchDispatchMode):
    """
    Counts storages from the operator that makes them until the last tensor on them is gone. `peak` is the most that was
    alive at once since `reset`. What an operator needs while it runs is not seen.
    """

    def __init__(self) -> None:
        super().__init__()
        self._sizes: dict[int, int] = {}
        self.now = 0
        self.peak = 0

    def reset(self) -> None:
        self.peak = self.now

    def add(self, *tensors: torch.Tensor) -> None:
        """Counts tensors that were made before; each storage once."""
        for tensor in tensors:
            storage = tensor.untyped_storage()
            key = storage._cdata
            size = storage.nbytes()
            before = self._sizes.get(key)
            if before is None:
                weakref.finalize(storage, self._gone, key)
            self._sizes[key] = size
            self.now += size - (before or 0)
        self.peak = max(self.peak, self.now)

    def _gone(self, key: int) -> None:
        self.now -= self._sizes.pop(key, 0)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        self.add(*(leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)))
        return result

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
