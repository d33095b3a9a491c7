"""Memory in live tensors, counted by PyTorch allocations because resident memory would be too noisy."""

from __future__ import annotations

import weakref
from types import TracebackType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class LiveMemory(TorchDispatchMode):
    """
    Counts each storage from the operator that creates it until its last tensor is gone. `peak` is the maximum number
    of live bytes since `reset`. Temporary memory inside an operator is not counted.
    """

    def __init__(self) -> None:
        super().__init__()
        self._sizes: dict[int, int] = {}
        self.now = 0
        self.peak = 0

    def reset(self) -> None:
        self.peak = self.now

    def add(self, *tensors: torch.Tensor) -> None:
        """Counts existing tensors, each storage once."""
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
