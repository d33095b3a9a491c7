# Uses the dataset from ../starter.recipe.json. The signature matches TRL's, so the function runs unchanged in a
# GRPOTrainer. It receives lists of prompts and completions, and each dataset column as a keyword argument.
import re

# Thinking up to FREE characters long earns the full reward. Longer thinking earns less, down to 0 at MOST characters.
FREE, MOST = 40, 160


def concise(prompts, completions, answer=None, **kwargs):
    """Returns 1 for a correct answer after short thinking, decreasing to 0 as the thinking gets longer, and 0 for an
    incorrect answer.
    """
    answers = answer if answer is not None else [None] * len(completions)
    return [_score(completion, gold) for completion, gold in zip(completions, answers)]


def _score(completion: str, gold) -> float | None:
    # None: the reward does not apply to this row and is excluded from its total.
    if gold is None:
        return None
    found = re.fullmatch(r"<think>(.*?)</think><answer>(.*?)</answer>", completion, re.DOTALL)
    # Incorrect answers get nothing, so shorter thinking alone cannot earn a reward.
    if found is None or found[2].strip() != str(gold).strip() or not found[1].strip():
        return 0.0
    return min(1.0, max(0.0, (MOST - len(found[1])) / (MOST - FREE)))
