"""A reward that a random policy partly earns, whatever the length of its completions."""


def digits(completions: list[str], **_: object) -> list[float]:
    """Returns the fraction of characters that are digits below 5."""
    return [sum(c in "01234" for c in text) / max(1, len(text)) for text in completions]
