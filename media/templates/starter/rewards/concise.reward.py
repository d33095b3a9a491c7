# Its data is the dataset of ../starter.recipe.json. The signature is TRL's, so the function runs unchanged in a
# GRPOTrainer: lists of prompts and completions, and every column of the dataset as a keyword.
import re

# Characters of thinking that cost nothing, and those from which on nothing is left.
FREE, MOST = 40, 160


def concise(prompts, completions, answer=None, **kwargs):
    """1 for a right answer after short thinking, falling to 0 as the thinking grows; 0 for a wrong answer."""
    answers = answer if answer is not None else [None] * len(completions)
    return [_score(completion, gold) for completion, gold in zip(completions, answers)]


def _score(completion: str, gold) -> float | None:
    # None: the reward does not apply to this row, and the sum leaves it out.
    if gold is None:
        return None
    found = re.fullmatch(r"<think>(.*?)</think><answer>(.*?)</answer>", completion, re.DOTALL)
    # What is worth nothing when the answer is wrong cannot be earned by writing less.
    if found is None or found[2].strip() != str(gold).strip() or not found[1].strip():
        return 0.0
    return min(1.0, max(0.0, (MOST - len(found[1])) / (MOST - FREE)))
