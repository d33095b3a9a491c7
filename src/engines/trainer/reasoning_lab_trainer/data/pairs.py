"""Preference pairs for `dpo` and `reward-model`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..failure import Failure
from ..models.template import Prompt, PromptTemplate
from .conversations import Cells
from .source import Numbered, Source, read_rows
from .split import held_out, prompt_key

if TYPE_CHECKING:
    from ..course.context import Context

PairRow = dict[str, Any]
"""Columns `prompt`, `chosen` and `rejected`, either all strings or all messages, as accepted by TRL."""


@dataclass(frozen=True)
class Pairs:
    name: str
    training: list[PairRow]
    held_out: list[PairRow]
    """Held-out pairs: a fraction of the prompts, selected by hash."""


def open_pairs(context: Context, spec: dict[str, Any], prompted: bool) -> Pairs:
    """Reads the pairs for a resolved stage. Prompts are as the policy sees them; with a chat template, a string becomes
    the user message. Without a prompt column, the completions include the prompt, which only a reward model accepts
    (`prompted`: False). Raises the same failures as `read_rows`, and `invalid` with file, row and column.
    """
    source = Source(spec["path"], None, spec["split"])
    numbered = read_rows(source)
    template = context.policy.template
    has_prompts = spec["prompt"] in numbered[0].row
    cells = Cells(source, "pairs")
    if prompted and not has_prompts:
        cells.column(numbered[0], "prompt", spec["prompt"])
    pairs = [_pair(one, spec, cells, template, has_prompts) for one in numbered]
    same = sum(pair["chosen"] == pair["rejected"] for pair in pairs)
    if same == len(pairs):
        raise Failure(
            "invalid", f"{source.name}: every pair consists of two identical completions.", "Check the column names."
        )
    # Identical completions produce no gradient and would lower the measured accuracy.
    pairs = [pair for pair in pairs if pair["chosen"] != pair["rejected"]]
    if same > 0:
        context.alert("warning", f"{source.name}: skipped {same} pairs with identical completions.")
    tests = held_out([prompt_key(key_of(pair)) for pair in pairs], spec["heldOutShare"])
    training = [pair for pair, test in zip(pairs, tests, strict=True) if not test]
    held = [pair for pair, test in zip(pairs, tests, strict=True) if test]
    if not training:
        raise Failure(
            "invalid",
            f"{source.name} has no pairs left to train on: all {len(held)} are held out.",
            'Add pairs, or lower "heldOutShare" under "pairs".',
        )
    if not held:
        context.alert("info", f"{source.name} has too few prompts to hold any out, so nothing will be evaluated.")
    return Pairs(source.name, training, held)


def key_of(pair: PairRow) -> str:
    """Returns the text that determines a pair's split: its prompt, or the chosen text if there is no prompt."""
    prompt: Prompt = pair["prompt"] or pair["chosen"]
    return prompt if isinstance(prompt, str) else "\n".join(message["content"] for message in prompt)


def _pair(
    numbered: Numbered, spec: dict[str, Any], cells: Cells, template: PromptTemplate, has_prompts: bool
) -> PairRow:
    chosen = cells.said(numbered, "chosen", spec["chosen"])
    rejected = cells.said(numbered, "rejected", spec["rejected"])
    if isinstance(chosen, list) != isinstance(rejected, list):
        raise cells.fault(numbered, "mixes strings and messages", "Use the same format for both completions.")
    prompt: Prompt
    if has_prompts:
        prompt = cells.said(numbered, "prompt", spec["prompt"])
    elif isinstance(chosen, list):
        prompt, chosen, rejected = _shared(chosen, rejected)
    else:
        prompt = ""
    if isinstance(prompt, list) and isinstance(chosen, str):
        chosen, rejected = _assistant(chosen), _assistant(rejected)
    elif isinstance(prompt, str) and (isinstance(chosen, list) or (template.chat and has_prompts)):
        prompt = template.converse(prompt)
        if isinstance(chosen, str):
            chosen, rejected = _assistant(chosen), _assistant(rejected)
    return {"prompt": prompt, "chosen": chosen, "rejected": rejected}


def _assistant(text: Prompt) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": str(text)}]


def _shared(chosen: Prompt, rejected: Prompt) -> tuple[Prompt, Prompt, Prompt]:
    """Splits whole conversations: the common prefix becomes the prompt."""
    same = 0
    while same < min(len(chosen), len(rejected)) - 1 and chosen[same] == rejected[same]:
        same += 1
    return list(chosen[:same]), list(chosen[same:]), list(rejected[same:])
