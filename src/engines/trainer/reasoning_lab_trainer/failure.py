"""Defines the exception class for errors shown to users."""

from __future__ import annotations

from typing import Literal, get_args

Reason = Literal[
    "invalid",
    "missing",
    "exists",
    "busy",
    "unsupported",
    "denied",
    "full",
    "corrupt",
    "mismatch",
    "version",
    "unavailable",
    "timeout",
    "cancelled",
    "internal",
]
"""Failure reasons. Must match the union in `src/base/failure.ts`."""

reasons: frozenset[str] = frozenset(get_args(Reason))


class Failure(Exception):
    """An error with a sentence that says what failed and where (`message`), and one that says how to fix it
    (`action`).
    """

    def __init__(self, reason: Reason, message: str, action: str | None = None) -> None:
        super().__init__(message)
        self.reason: Reason = reason
        self.message = message
        self.action = action

    def __reduce__(self) -> tuple[type[Failure], tuple[Reason, str, str | None]]:
        # Cluster workers pickle failures.
        return (type(self), (self.reason, self.message, self.action))

    def __str__(self) -> str:
        return self.message if self.action is None else f"{self.message} {self.action}"
