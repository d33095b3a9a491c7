"""Implements `policy/score`: log-probabilities of existing completions."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch

from ..failure import Failure
from ..models.template import readable
from .access import asked, encode_prompt
from .generate import MOST, does_not_fit
from .sampler import ROWS, parts

if TYPE_CHECKING:
    from ..course.context import Context


def score(context: Context, params: dict[str, Any]) -> dict[str, Any]:
    """Returns log-probabilities in nats: a list for each prompt and completion, with one entry per completion token.
    Called on every rank, but only rank 0 computes. Raises Failure.
    """
    with asked(context) as model:
        answer = {"logprobs": logprobs_of(context, model, params)} if context.world.main else {}
        context.world.barrier()
    return answer


def logprobs_of(context: Context, model: Any, params: dict[str, Any]) -> list[list[float]]:
    policy = context.policy
    tokenizer = policy.tokenizer
    prompts, completions = params["prompts"], params["completions"]
    if len(prompts) != len(completions):
        raise Failure("invalid", "policy/score requires the same number of prompts and completions.")
    if len(prompts) > MOST:
        raise Failure("invalid", f"Too many completions in one request: {len(prompts)} (maximum {MOST}).")
    pairs: list[tuple[list[int], list[int]]] = []
    for place, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
        start = encode_prompt(tokenizer, prompt)
        rest: list[int] = tokenizer(readable(completion), add_special_tokens=False)["input_ids"]
        if not start or len(start) + len(rest) > policy.context:
            raise does_not_fit(f"prompts[{place}] with its completion", policy.context)
        pairs.append((start, rest))
    scoring, around = reference_of(context, model) if params.get("reference") else (model, nullcontext())
    temperature = float(params.get("temperature", 1))
    logprobs: list[list[float]] = [[] for _ in pairs]
    order = sorted((i for i in range(len(pairs)) if pairs[i][1]), key=lambda i: sum(map(len, pairs[i])))
    with around:
        for part in parts(order, ROWS):
            of_part = score_together(scoring, [pairs[i] for i in part], tokenizer.pad_token_id or 0, temperature)
            for i, values in zip(part, of_part, strict=True):
                logprobs[i] = values
    return logprobs


def score_together(
    model: Any, pairs: list[tuple[list[int], list[int]]], fill: int, temperature: float
) -> list[list[float]]:
    """Pads on the right, where causal attention ignores the padding."""
    device = next(model.parameters()).device
    width = max(len(prompt) + len(rest) for prompt, rest in pairs)
    ids = torch.full((len(pairs), width), fill, device=device)
    mask = torch.zeros((len(pairs), width), dtype=torch.long, device=device)
    for row, (prompt, rest) in enumerate(pairs):
        tokens = prompt + rest
        ids[row, : len(tokens)] = torch.tensor(tokens, device=device)
        mask[row, : len(tokens)] = 1
    logits = model(input_ids=ids, attention_mask=mask, use_cache=False).logits
    values: list[list[float]] = []
    for row, (prompt, rest) in enumerate(pairs):
        begin, end = len(prompt), len(prompt) + len(rest)
        logs = torch.log_softmax(logits[row, begin - 1 : end - 1].float() / temperature, dim=-1)
        values.append(logs.gather(1, ids[row, begin:end].unsqueeze(1)).squeeze(1).tolist())
    return values


def reference_of(context: Context, model: Any) -> tuple[Any, Any]:
    """Returns the reference model and a context manager to run it in. Raises Failure `unsupported` if the run has
    none.
    """
    trainer = None if context.active is None else context.active.trainer
    reference = getattr(trainer, "ref_model", None)
    if reference is not None:
        return reference, nullcontext()
    adapters = getattr(model, "peft_config", None)
    if trainer is not None and adapters and getattr(trainer, "beta", 0) != 0:
        from trl.trainer.utils import use_adapter

        return model, use_adapter(model, adapter_name="ref" if "ref" in adapters else None)
    raise Failure("unsupported", "This run has no reference policy because beta is 0.", 'Score without "reference".')
