"""Decodes the text of individual tokens."""

from __future__ import annotations

from typing import Any

REPLACEMENT = "\ufffd"


class Pieces:
    """Text that each token adds to a completion. If a character is split across several tokens, the last of them adds
    the character and the others add nothing.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._known: dict[int, str] = {}
        self._parts: set[int] = set()
        """Tokens that encode only part of a character."""
        self.ends: tuple[int | None, ...] = (tokenizer.eos_token_id, tokenizer.pad_token_id)

    def of(self, ids: list[int]) -> list[str]:
        """Returns one string per token. Special tokens appear verbatim."""
        known = self._known
        for token in set(ids).difference(known):
            piece = known[token] = self._after_another(token)
            if REPLACEMENT in piece:
                self._parts.add(token)
        pieces = [known[token] for token in ids]
        return pieces if self._parts.isdisjoint(ids) else self._joined(ids, pieces)

    def _after_another(self, token: int) -> str:
        # Some tokenizers drop a leading space, so decode the token after another token.
        alone = self._decode([token])
        twice = self._decode([token, token])
        rest = twice[len(alone) :] if twice.startswith(alone) else alone
        return rest if rest.strip() == alone.strip() and rest else alone

    def _joined(self, ids: list[int], pieces: list[str]) -> list[str]:
        """Decodes partial-character tokens together, up to the token that completes the character."""
        joined: list[str] = []
        start: int | None = None
        for place, piece in enumerate(pieces):
            if start is None and REPLACEMENT not in piece:
                joined.append(piece)
                continue
            start = place if start is None else start
            whole = self._decode(ids[start : place + 1])
            if REPLACEMENT in whole and place + 1 < len(ids) and place - start < 8:
                joined.append("")
                continue
            joined.append(whole)
            start = None
        return joined

    def _decode(self, ids: list[int]) -> str:
        return self._tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
