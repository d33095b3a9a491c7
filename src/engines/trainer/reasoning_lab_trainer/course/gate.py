"""Receives commands from the driver and executes them on all ranks."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from ..failure import Failure
from ..link.client import Link
from ..link.messages import Order
from .fence import fenced
from .world import World

Decision = Literal["continue", "end-stage", "stop"]


@dataclass
class Verdict:
    """Outcome of a command exchange."""

    decision: Decision
    hyperparameters: dict[str, float] = field(default_factory=dict)
    """Hyperparameter values in effect. Only set with `continue`."""


class Gate:
    """All ranks call the gate at the same points. Rank 0 queries the driver, commands are broadcast, and each rank
    executes its part. Nothing here consumes training's random numbers.
    """

    def __init__(self, link: Link | None, world: World, perform: Callable[[Order], Any]) -> None:
        self._link = link
        self._world = world
        self._perform = perform

    def ask(self, method: str, params: dict[str, Any] | Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Sends a request to the driver and returns the reply on every rank. `params` is used on rank 0 only, and is
        called there if it is a function. Raises the driver's Failure on all ranks.
        """
        answer: dict[str, Any] | None = None
        refusal: Failure | None = None
        if self._world.main and self._link is not None:
            try:
                answer = self._link.call(method, params() if callable(params) else params)
            except Failure as failure:
                refusal = failure
            except Exception as unexpected:
                # The other ranks are waiting for the broadcast.
                refusal = Failure("internal", f"{method} failed: {type(unexpected).__name__}: {unexpected}")
        if self._world.size > 1:
            answer, refusal = self._world.broadcast((answer, refusal))
        if refusal is not None:
            raise refusal
        return answer if answer is not None else {}

    def pass_through(self, method: str, params: dict[str, Any] | Callable[[], dict[str, Any]]) -> Verdict:
        """Sends a request whose reply contains commands, and executes them."""
        return self.obey(self.ask(method, params).get("orders", []))

    def obey(self, orders: list[Order]) -> Verdict:
        """Executes commands and requests more until the driver decides how training continues."""
        while True:
            answers: list[dict[str, Any]] = []
            for order in orders:
                do = order.get("do")
                if do == "continue":
                    return Verdict("continue", order.get("hyperparameters") or {})
                if do in ("end-stage", "stop"):
                    return Verdict(do)
                if do != "wait":
                    answers.append(self._answer(order))
            orders = self.ask("run/orders", {"answers": answers}).get("orders", [])

    def _answer(self, order: Order) -> dict[str, Any]:
        try:
            with fenced():
                return {"id": order.get("id", 0), "value": self._perform(order)}
        except Failure as failure:
            error = failure.data()
        except Exception as unexpected:
            # A failed client request must not end training.
            traceback.print_exc(file=sys.stderr)
            error = Failure("internal", f"{type(unexpected).__name__}: {unexpected}").data()
        return {"id": order.get("id", 0), "error": error}
