"""A reward that any model can earn something of, and that differs between completions."""


def letters(completions: list[str], **_: object) -> list[float]:
    """Share of the letters in the first half of the alphabet."""
    return [sum(c <= "m" for c in text) / max(1, len(text)) for text in completions]
