"""Selects held-out rows. Must match `src/core/dataset/split.ts` exactly."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from .hashing import hash_texts

_SEED = 0x5EED

# Whitespace as defined by JavaScript, which differs from Python's definition.
_SPACES = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_SPACE_RUN = re.compile(f"[{_SPACES}]+")


def prompt_key(prompt: str) -> str:
    """Normalizes a prompt to a key. Problems with the same key are considered identical."""
    return _SPACE_RUN.sub(" ", unicodedata.normalize("NFC", prompt)).strip(" ")


def held_out(keys: Sequence[str], share: float) -> list[bool]:
    """Returns whether each key's problem is held out, based on a hash of the key. The result is the same in every run
    and on every machine.
    """
    return [bool(value < share * 4294967296) for value in hash_texts(keys, _SEED)]
