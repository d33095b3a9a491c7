"""Random streams for sampling. Each stream depends only on its seed."""

from __future__ import annotations

import hashlib

import numpy as np


class Stream:
    """Generates random numbers in [0, 1) (Philox, Salmon et al. 2011)."""

    def __init__(self, seed: str) -> None:
        key = int.from_bytes(hashlib.sha256(seed.encode("utf-8", "surrogatepass")).digest()[:16], "little")
        self._generator = np.random.Generator(np.random.Philox(key=key))

    def next(self) -> float:
        return float(self._generator.random())
