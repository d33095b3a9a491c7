"""The built-in rewards `accuracy` and `format` of the template `r1`, as far as sums of whole numbers need them."""

import re

TEXT = r"((?:(?!</?think>|</?answer>).)*)"
FORM = re.compile(f"<think>{TEXT}</think><answer>{TEXT}</answer>", re.DOTALL)


def accuracy(completions: list[str], answer: list[str], **_: object) -> list[float]:
    return [float(sole_answer(completion) == int(gold)) for completion, gold in zip(completions, answer, strict=True)]


def sole_answer(completion: str) -> int | None:
    """The number between the one pair of answer tags, whatever stands around it."""
    parts = re.split("(</?answer>)", completion)
    if parts[1::2] != ["<answer>", "</answer>"]:
        return None
    text = parts[2].strip()
    return int(text) if text.isdecimal() else None


def format(completions: list[str], **_: object) -> list[float]:
    matches = (FORM.fullmatch(completion) for completion in completions)
    return [float(match is not None and match[2].strip() != "") for match in matches]
