"""Tokenizes rows, checks their lengths, and sets training labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from datasets import Dataset

from ..failure import Failure
from ..models.tokenizer import first_line
from .rows_stage import longest_row

if TYPE_CHECKING:
    from ..course.context import Context
    from ..models.policy import Policy

IGNORED = -100
"""Label for tokens that are not trained on."""


def encoded(policy: Policy, texts: Sequence[str], what: str, special: bool = True) -> list[list[int]]:
    """Returns the token ids of each text. `special`: whether to include tokens that the tokenizer adds; `what`:
    description of the texts for error messages. Raises `invalid` with the first character that is missing from the
    vocabulary.
    """
    if not texts:
        return []
    try:
        return policy.tokenizer(list(texts), add_special_tokens=special)["input_ids"]
    except Exception as error:
        lacking = next((symbol for text in texts for symbol in dict.fromkeys(text) if not known(policy, symbol)), None)
        if lacking is not None:
            raise Failure(
                "invalid",
                f"{what} contain the character {lacking!r} (U+{ord(lacking):04X}), which is not in the model "
                "vocabulary.",
                "Use only characters that occur in the training data, or a model with a larger vocabulary.",
            ) from error
        raise Failure("invalid", f"{what} cannot be tokenized: {first_line(error)}.") from error


def known(policy: Policy, symbol: str) -> bool:
    try:
        policy.tokenizer(symbol)
    except Exception:
        return False
    return True


def text_of(policy: Policy, prompt: Any, completion: Any = None) -> str:
    """Returns the text as the model sees it. Messages are rendered with the chat template. A reply to a string prompt
    ends with the end-of-sequence token.
    """
    if isinstance(prompt, str):
        if completion is None:
            return prompt
        end = policy.tokenizer.eos_token
        return prompt + completion + ("" if completion.endswith(end) else end)
    return policy.tokenizer.apply_chat_template(
        [*prompt, *(completion or [])], tokenize=False, add_generation_prompt=completion is None
    )


def row_ids(policy: Policy, rows: Sequence[dict[str, Any]], reply: str | None, what: str) -> list[list[int]]:
    """Returns the token ids of each row's prompt, or of prompt and reply, as in TRL's trainers."""
    ids: list[list[int]] = [[]] * len(rows)
    for chat in (False, True):
        # Chat templates add special tokens themselves.
        places = [place for place, row in enumerate(rows) if isinstance(row["prompt"], list) == chat]
        texts = [text_of(policy, rows[place]["prompt"], rows[place][reply] if reply else None) for place in places]
        for place, tokens in zip(places, encoded(policy, texts, what, special=not chat), strict=True):
            ids[place] = tokens
    return ids


def fitting(context: Context, rows: list[dict[str, Any]], replies: Sequence[str], what: str) -> list[dict[str, Any]]:
    """Returns the rows whose prompt leaves room for a completion. Reports how many rows are skipped or truncated.
    `replies`: the columns that follow the prompt.
    """
    policy, longest = context.policy, longest_row(context)
    prompts = row_ids(policy, rows, None, f"Prompts in {what}")
    kept = [row for row, tokens in zip(rows, prompts, strict=True) if len(tokens) < longest]
    whole = [row_ids(policy, kept, reply, f"Completions in {what}") for reply in replies]
    cut = sum(any(len(tokens) > longest for tokens in together) for together in zip(*whole, strict=True))
    report(context, what, len(rows), len(kept), cut)
    return kept


def imitated(context: Context, rows: list[dict[str, Any]], what: str, packing: bool) -> Dataset:
    """Returns tokens and labels for prompts and completions, with only the completion and its end labeled. The result
    is the same as in TRL's SFTTrainer, but computed for all rows at once instead of one by one. Truncates rows that
    are too long, unless rows are packed.
    """
    policy, longest = context.policy, longest_row(context)
    prompts = row_ids(policy, rows, None, f"Prompts in {what}")
    whole = row_ids(policy, rows, "completion", f"Completions in {what}")
    ids: list[list[int]] = []
    labels: list[list[int]] = []
    cut = 0
    for prompt, tokens in zip(prompts, whole, strict=True):
        if len(prompt) >= longest:
            continue
        cut += len(tokens) > longest
        kept = tokens if packing else tokens[:longest]
        ids.append(kept)
        labels.append([*[IGNORED] * len(prompt), *kept[len(prompt) :]])
    report(context, what, len(rows), len(ids), cut)
    return Dataset.from_dict({"input_ids": ids, "labels": labels})


def report(context: Context, what: str, rows: int, kept: int, cut: int) -> None:
    """Reports skipped and truncated rows. Raises `invalid` if no rows remain."""
    longest = longest_row(context)
    if kept < rows:
        context.alert(
            "warning",
            f"{what}: skipped {rows - kept} of {rows} rows because their prompts alone have {longest} tokens or more.",
        )
    if cut > 0:
        context.alert(
            "warning", f"{what}: {cut} of {kept} rows are longer than {longest} tokens and will be truncated."
        )
    if kept == 0:
        raise Failure(
            "invalid",
            f"{what}: every prompt has {longest} tokens or more, which leaves no room for a completion.",
            'Raise "maxLength" in "pytorch", or use a model with a longer context.',
        )
