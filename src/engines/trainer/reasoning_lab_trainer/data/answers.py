"""Gold answers as text, matching `goldText` in `src/core/dataset/answer.ts`."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from .split import prompt_key


def number_text(value: int | float) -> str:
    """Formats a number as JavaScript does, for magnitudes from 1e-6 up to 1e21."""
    if isinstance(value, int) and abs(value) <= 2**53:
        return str(value)
    text = format(Decimal(repr(float(value))), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def gold_text(answer: Any) -> str | None:
    """Returns the answer as text, or None if it cannot be compared."""
    if isinstance(answer, bool):
        return "true" if answer else "false"
    if isinstance(answer, str):
        return answer if prompt_key(answer) else None
    if not isinstance(answer, (int, float)) or not math.isfinite(answer):
        return None
    if answer == 0:
        return "0"
    return number_text(answer) if 1e-6 <= abs(answer) < 1e21 else None
