"""Prepares the policy's model for requests and restores it afterward."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import torch

from ..failure import Failure
from ..models.precision import precision_of
from ..models.template import readable
from ..models.tokenizer import first_line

if TYPE_CHECKING:
    from ..course.context import Context


@contextmanager
def asked(context: Context) -> Iterator[Any]:
    """Provides the full model in evaluation mode and training precision. All ranks must enter and exit together."""
    model = context.policy.model
    active = context.active
    trainer = None if active is None else active.trainer
    holds_policy = trainer is not None and trainer.accelerator.unwrap_model(trainer.model) is model
    checkpointing = bool(getattr(model, "is_gradient_checkpointing", False))
    training = [module for module in model.modules() if module.training]
    with ExitStack() as stack:
        if trainer is not None:
            stack.enter_context(trainer.accelerator.autocast())
            if holds_policy and trainer.is_fsdp_enabled:
                stack.enter_context(whole(trainer.model_wrapped))
        else:
            stack.enter_context(arithmetic(context, model))
        if holds_policy and getattr(trainer, "replaces_forward", False):
            stack.enter_context(original_forward(model))
        stack.enter_context(torch.no_grad())
        model.eval()
        if checkpointing:
            model.gradient_checkpointing_disable()
        try:
            yield model
        finally:
            if checkpointing:
                model.gradient_checkpointing_enable(
                    gradient_checkpointing_kwargs=getattr(trainer.args, "gradient_checkpointing_kwargs", None)
                )
            for module in training:
                module.training = True


@contextmanager
def original_forward(model: Any) -> Iterator[None]:
    """Restores the model's own forward method, which returns logits, while the context is active."""
    replaced = model.__dict__.pop("forward", None)
    try:
        yield
    finally:
        if replaced is not None:
            model.forward = replaced


@contextmanager
def whole(model: Any) -> Iterator[None]:
    """Gathers all weights of a sharded model (FSDP2) on every rank, so each rank can run the model any number of times.
    All ranks must enter and exit together.
    """
    from torch.distributed.fsdp import FSDPModule

    parts = [module for module in model.modules() if isinstance(module, FSDPModule)]
    for part in parts:
        part.set_reshard_after_forward(False, recurse=False)
        part.unshard()
    try:
        yield
    finally:
        for part in parts:
            part.reshard()
            part.set_reshard_after_forward(True, recurse=False)


def arithmetic(context: Context, model: Any) -> Any:
    """Returns an autocast context with the recipe's precision, for use when no trainer has set one up."""
    device = next(model.parameters()).device
    precision = precision_of(context.recipe, device)
    if device.type != "cuda" or precision == "float32":
        return nullcontext()
    return torch.autocast(device.type, getattr(torch, precision))


def encode_prompt(tokenizer: Any, text: str) -> list[int]:
    """Encodes text for continuation the same way TRL encodes prompts: adds the tokenizer's leading tokens
    unless the text already starts with them (a rendered conversation).
    """
    begins = tokenizer.bos_token is not None and text.startswith(tokenizer.bos_token)
    text = readable(text)
    try:
        ids: list[int] = tokenizer(text, add_special_tokens=not begins)["input_ids"]
    except Exception as error:
        raise Failure(
            "invalid",
            f"Cannot tokenize the text {text[:80]!r}: {first_line(error)}.",
            "Use only characters in the model's vocabulary.",
        ) from error
    # Drop a trailing end-of-sequence token because the text will be continued.
    if ids and ids[-1] == tokenizer.eos_token_id and not text.endswith(tokenizer.eos_token or "\0"):
        ids = ids[:-1]
    if not ids and tokenizer.bos_token_id is not None:
        ids = [tokenizer.bos_token_id]
    return ids
