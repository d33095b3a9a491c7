"""Which rows are held out, identical to `src/core/dataset/split.ts`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from .hashing import hash_texts

_SEED = 0x5EED

# Whitespace as defined by JavaScript, which differs from Python's.
_SPACES = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_SPACE_RUN = re.compile(f"[{_SPACES}]+")


def prompt_key(prompt: str) -> str:
    """Problems with the same key are the same problem."""
    return _SPACE_RUN.sub(" ", unicodedata.normalize("NFC", prompt)).strip(" ")


def held_out(keys: Sequence[str], share: float) -> list[bool]:
    """Whether the problem of each key is held out, by a hash of the key; the same in every run and on every machine."""
    return [bool(value < share * 4294967296) for value in hash_texts(keys, _SEED)]
