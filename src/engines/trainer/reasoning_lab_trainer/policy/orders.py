"""Handles driver commands related to the policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..link.messages import Order
from .evaluation import evaluate
from .generate import generate
from .score import score

if TYPE_CHECKING:
    from ..course.context import Context


def take_orders(context: Context) -> None:
    """Registers the handlers for `evaluate`, `generate` and `score`."""

    def generating(order: Order) -> object:
        return generate(context, order.get("params") or {})

    def scoring(order: Order) -> object:
        return score(context, order.get("params") or {})

    def evaluating(order: Order) -> object:
        return evaluate(context, order)

    context.perform_with("generate", generating)
    context.perform_with("score", scoring)
    context.perform_with("evaluate", evaluating)
