"""The `accuracy` and `format` rewards of the template `r1`, limited to what integer sums need."""

import re

TEXT = r"((?:(?!</?think>|</?answer>).)*)"
FORM = re.compile(f"<think>{TEXT}</think><answer>{TEXT}</answer>", re.DOTALL)


def accuracy(completions: list[str], answer: list[str], **_: object) -> list[float]:
    return [float(sole_answer(completion) == int(gold)) for completion, gold in zip(completions, answer, strict=True)]


def sole_answer(completion: str) -> int | None:
    """Returns the number inside the only pair of answer tags, ignoring the text around it."""
    parts = re.split("(</?answer>)", completion)
    if parts[1::2] != ["<answer>", "</answer>"]:
        return None
    text = parts[2].strip()
    return int(text) if text.isdecimal() else None


def format(completions: list[str], **_: object) -> list[float]:
    matches = (FORM.fullmatch(completion) for completion in completions)
    return [float(match is not None and match[2].strip() != "") for match in matches]
