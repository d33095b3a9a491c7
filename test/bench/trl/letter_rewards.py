"""A reward that any model can partly earn and that varies between completions."""


def letters(completions: list[str], **_: object) -> list[float]:
    """Returns the fraction of characters in the first half of the alphabet."""
    return [sum(c <= "m" for c in text) / max(1, len(text)) for text in completions]
