"""Hash and random stream that determine splits and orders. Must match `src/base/random.ts` exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")

MASK = 0xFFFFFFFF


def mix32(h: int) -> int:
    """Applies MurmurHash3's 32-bit finalizer."""
    h = ((h ^ (h >> 16)) * 0x85EBCA6B) & MASK
    h = ((h ^ (h >> 13)) * 0xC2B2AE35) & MASK
    return h ^ (h >> 16)


def hash_text(text: str, seed: int = 0) -> int:
    """Computes FNV-1a over UTF-16 bytes (low byte first), with a final mix."""
    h = (0x811C9DC5 ^ seed) & MASK
    for byte in text.encode("utf-16-le", "surrogatepass"):
        h = ((h ^ byte) * 0x01000193) & MASK
    return mix32(h)


def hash_texts(texts: Sequence[str], seed: int = 0) -> np.ndarray:
    """Computes `hash_text` for many strings as uint32, vectorized byte by byte."""
    coded = [text.encode("utf-16-le", "surrogatepass") for text in texts]
    order = sorted(range(len(coded)), key=lambda i: len(coded[i]))
    out = np.empty(len(coded), dtype=np.uint32)
    for start in range(0, len(order), 4096):
        places = order[start : start + 4096]
        lengths = np.array([len(coded[i]) for i in places])
        table = np.zeros((len(places), int(lengths[-1])), dtype=np.uint8)
        for row, i in enumerate(places):
            table[row, : lengths[row]] = np.frombuffer(coded[i], dtype=np.uint8)
        h = np.full(len(places), (0x811C9DC5 ^ seed) & MASK, dtype=np.uint32)
        for at in range(table.shape[1]):
            # Strings are sorted by length, so the unfinished ones are at the end.
            first = int(np.searchsorted(lengths, at, side="right"))
            h[first:] = (h[first:] ^ table[first:, at]) * np.uint32(0x01000193)
        h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        out[places] = h ^ (h >> np.uint32(16))
    return out


class Random:
    """xoshiro128** (Blackman and Vigna 2018), seeded as in the TypeScript version. Not cryptographically secure."""

    def __init__(self, *seeds: int | str) -> None:
        words: list[int] = []
        h = 0x9E3779B9
        for i in range(4):
            for seed in seeds:
                h = hash_text(f"s{seed}" if isinstance(seed, str) else f"n{seed}", (h + i * 0x6D2B79F5) & MASK)
            h = mix32((h + 0x9E3779B9 + i) & MASK)
            words.append(h)
        if h == 0 and words[0] == 0:
            words[0] = 1
        self._a, self._b, self._c, self._d = words

    def uint32(self) -> int:
        """Returns a uniform unsigned 32-bit integer."""
        b5 = (self._b * 5) & MASK
        result = (((b5 << 7) | (b5 >> 25)) * 9) & MASK
        t = (self._b << 9) & MASK
        self._c ^= self._a
        self._d ^= self._b
        self._b ^= self._c
        self._a ^= self._d
        self._c ^= t
        self._d = ((self._d << 11) | (self._d >> 21)) & MASK
        return result

    def below(self, n: int) -> int:
        """Returns a uniform integer in [0, n)."""
        return int(self.uint32() / 4294967296 * n)

    def shuffle(self, items: list[T]) -> list[T]:
        """Shuffles in place (Fisher-Yates)."""
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]
        return items


class Epochs:
    """An endless stream of row indices, divided into epochs. Each epoch is shuffled separately. The same seed yields
    the same order on every machine.
    """

    def __init__(self, rows: int, *seeds: int | str) -> None:
        self._rows = rows
        self._seeds = seeds
        self._epoch = -1
        self._order: list[int] = []

    def at(self, index: int) -> int:
        """Returns the row index at a stream position."""
        epoch, place = divmod(index, self._rows)
        if epoch != self._epoch:
            self._order = Random(*self._seeds, "epoch", epoch).shuffle(list(range(self._rows)))
            self._epoch = epoch
        return self._order[place]
