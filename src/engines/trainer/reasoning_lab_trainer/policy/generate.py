"""Serves `policy/generate` from `src/protocol/control.ts`, including `generate.many` and `generate.distribution`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ..failure import Failure
from ..trl.pieces import Pieces
from .access import asked, encode_prompt
from .sampler import Manner, Sample, Sampler, Wish
from .stop import first_stop, tokens_that

if TYPE_CHECKING:
    from ..course.context import Context

T = TypeVar("T")

MOST = 4096
"""Maximum completions per request. Training waits while a request is being answered."""


def generate(context: Context, params: dict[str, Any]) -> dict[str, Any]:
    """Generates completions with the current weights. Called on every rank, but only rank 0 generates. Raises Failure
    `invalid`.
    """
    with asked(context) as model:
        answer = completions_of(context, model, params) if context.world.main else {}
        context.world.barrier()
    return answer


def completions_of(context: Context, model: Any, params: dict[str, Any]) -> dict[str, Any]:
    policy = context.policy
    tokenizer = policy.tokenizer
    texts: list[str] = params["prompts"]
    prompts = [encode_prompt(tokenizer, text) for text in texts]
    for place, ids in enumerate(prompts):
        if not ids or len(ids) >= policy.context:
            raise does_not_fit(f"prompts[{place}]", policy.context)
    counts = per_prompt(params.get("n", 1), len(texts), "n")
    limits = per_prompt(params.get("maxTokens") or policy.context, len(texts), "maxTokens")
    seeds = params.get("seeds")
    if seeds is not None and len(seeds) != len(texts):
        raise wrong_length("seeds", len(seeds), len(texts))
    if sum(counts) > MOST:
        raise Failure("invalid", f"Too many completions in one request: {sum(counts)} (maximum {MOST}).")
    wishes = [
        Wish(
            prompt,
            f"policy/{params.get('seed', 0)}/{p}/{k}" if seeds is None else f"policy/{seeds[p]}/0/{k}",
            limits[p],
        )
        for p, prompt in enumerate(prompts)
        for k in range(counts[p])
    ]
    stop = [text for text in params.get("stop") or [] if text]
    alternatives = int(params.get("alternatives") or 0)
    detail = bool(params.get("logprobs")) or alternatives > 0
    manner = Manner(float(params.get("temperature", 1)), float(params.get("topP", 1)), stop, detail, alternatives)
    samples = iter(Sampler(model, tokenizer, policy.context).sample(wishes, manner))
    pieces = Pieces(tokenizer)
    return {
        "completions": [
            [completion_of(next(samples), tokenizer, pieces, manner) for _ in range(count)] for count in counts
        ],
        "promptTokens": [len(prompt) for prompt in prompts],
    }


def completion_of(sample: Sample, tokenizer: Any, pieces: Pieces, manner: Manner) -> dict[str, Any]:
    """Converts a sample to a reply: its text up to the first stop string, and details for the tokens in that text."""
    ids = sample.tokens
    whole: str = tokenizer.decode(ids, skip_special_tokens=True)
    end = first_stop(whole, manner.stop) if manner.stop else None
    texts = pieces.of(ids)
    length = generated = len(ids)
    if end is not None:
        # Special tokens do not appear in the text.
        written = ["" if token in tokenizer.all_special_ids else text for token, text in zip(ids, texts, strict=True)]
        length = tokens_that(written, end.at)
        generated = tokens_that(written, end.at + len(end.text))
    completion: dict[str, Any] = {
        "text": whole if end is None else whole[: end.at],
        "truncated": end is None and not sample.ended,
        "finish": "stop" if end is not None else "end" if sample.ended else "length",
        "generated": generated,
        "logprob": sum(sample.logprobs[:generated]),
    }
    if end is not None:
        completion["stopText"] = end.text
    if manner.detail:
        tokens: dict[str, Any] = {
            "text": texts[:length],
            "logprob": sample.logprobs[:length],
            "entropy": sample.entropies[:length],
            "varentropy": sample.varentropy[:length],
            "gini": sample.gini[:length],
            "variance": sample.variance[:length],
        }
        if manner.alternatives > 0:
            tokens["top"] = [
                [[pieces.of([token])[0], logprob] for token, logprob in top] for top in sample.top[:length]
            ]
        completion["tokens"] = tokens
    return completion


def per_prompt(value: T | list[T], prompts: int, name: str) -> list[T]:
    """Returns a list with one entry per prompt. A value that is not a list applies to all prompts."""
    if not isinstance(value, list):
        return [value] * prompts
    if len(value) != prompts:
        raise wrong_length(name, len(value), prompts)
    return value


def wrong_length(name: str, length: int, prompts: int) -> Failure:
    return Failure("invalid", f'policy/generate: "{name}" has {length} entries for {prompts} prompts.')


def does_not_fit(what: str, context: int) -> Failure:
    return Failure("invalid", f"{what} exceeds the context of {context} tokens.", context=context)
