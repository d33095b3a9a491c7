# When you save this file, it is verified: the reward's results on your data appear next to its signature. The data
# comes from the recipe that refers to this file, or from a nearby recipe. To use other data, add a comment such as
# "@dataset ../data/train.jsonl".
#
# The signature matches TRL's, so the function runs unchanged in a GRPOTrainer. It receives lists of prompts and
# completions, and each dataset column as a keyword argument. It returns one number per completion, or None where it
# does not apply.
import re

# Maximum length of the thinking section, in characters, for the full reward.
SHORT = 200


def __NAME__(prompts, completions, answer=None, **kwargs):
    """Rewards correct answers with short thinking: 1 up to SHORT characters, decreasing to 0 at 4 * SHORT."""
    answers = answer if answer is not None else [None] * len(completions)
    return [_score(_text(completion), gold) for completion, gold in zip(completions, answers)]


# Default weight for recipes that do not set one.
__NAME__.weight = 0.1


# Functions with a leading underscore are not rewards.
def _score(completion: str, gold) -> float | None:
    # None: the reward does not apply to this row and is excluded from its total.
    if gold is None or gold == "":
        return None
    found = re.fullmatch(r"\s*<think>(.*?)</think>\s*<answer>(.*?)</answer>\s*", completion, re.DOTALL)
    # Require exactly one think and one answer section with nothing around them, so a completion cannot give several
    # answers.
    if found is None or re.search(r"</?(think|answer)>", found[1] + found[2]):
        return 0.0
    # Incorrect answers get nothing, so shorter thinking alone cannot earn a reward.
    if found[2].strip() != str(gold).strip() or not found[1].strip():
        return 0.0
    return min(1.0, max(0.0, (4 * SHORT - len(found[1])) / (3 * SHORT)))


def _text(completion) -> str:
    """Returns the completion text. For conversational data, this is the content of the last message."""
    return completion if isinstance(completion, str) else completion[-1]["content"]
