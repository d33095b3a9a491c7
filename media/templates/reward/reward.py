# Saved, this file is verified: what the reward does on your data stands behind its signature. The data is that of the
# recipe which names this file, or of a recipe nearby; or write a comment such as "@dataset ../data/train.jsonl" here.
#
# The signature is TRL's, so the function runs unchanged in a GRPOTrainer: lists of prompts and completions, and every
# column of the dataset as a keyword. It gives one number for each completion, or None where it does not apply.
import re

# The thinking that is paid in full, in characters.
SHORT = 200


def __NAME__(prompts, completions, answer=None, **kwargs):
    """Thinking that is short for a right answer: 1 up to the length above, falling to 0 at four times of it."""
    answers = answer if answer is not None else [None] * len(completions)
    return [_score(_text(completion), gold) for completion, gold in zip(completions, answers)]


# What a recipe that gives no weight uses.
__NAME__.weight = 0.1


# A name with an underscore in front is no reward.
def _score(completion: str, gold) -> float | None:
    # None: the reward does not apply to this row, and the sum leaves it out.
    if gold is None or gold == "":
        return None
    found = re.fullmatch(r"\s*<think>(.*?)</think>\s*<answer>(.*?)</answer>\s*", completion, re.DOTALL)
    # One think and one answer section and nothing around them: else several answers could be given at once.
    if found is None or re.search(r"</?(think|answer)>", found[1] + found[2]):
        return 0.0
    # What is worth nothing when the answer is wrong cannot be earned by writing less.
    if found[2].strip() != str(gold).strip() or not found[1].strip():
        return 0.0
    return min(1.0, max(0.0, (4 * SHORT - len(found[1])) / (3 * SHORT)))


def _text(completion) -> str:
    """Of a conversation the last message is the completion."""
    return completion if isinstance(completion, str) else completion[-1]["content"]
