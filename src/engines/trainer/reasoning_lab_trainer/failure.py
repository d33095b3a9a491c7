"""Defines the exception class for errors shown to users."""

from __future__ import annotations

from typing import Any, Literal, get_args

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
    """An error for the user. `message` says what failed and where, `action` how to fix it."""

    def __init__(self, reason: Reason, message: str, action: str | None = None, context: int | None = None) -> None:
        """`context`: the model's context length in tokens, if the input exceeded it."""
        super().__init__(message)
        self.reason: Reason = reason
        self.message = message
        self.action = action
        self.context = context

    def __reduce__(self) -> tuple[type[Failure], tuple[Reason, str, str | None, int | None]]:
        # Cluster workers pickle failures.
        return (type(self), (self.reason, self.message, self.action, self.context))

    def data(self) -> dict[str, Any]:
        """Returns the failure as data for other processes: `FailureData` in `src/base/failure.ts`."""
        fields = {"reason": self.reason, "message": self.message, "action": self.action, "context": self.context}
        return {name: value for name, value in fields.items() if value is not None}

    def __str__(self) -> str:
        return self.message if self.action is None else f"{self.message} {self.action}"
