"""Turn rewards, which an environment appends to its `turn_rewards` attribute. Ignored if it is not a list."""

from . import scoring

_CONTAINS = "turn_rewards contains"


def count_of(instance):
    """Returns the number of rewards so far."""
    return len(_list_of(instance))


def earned_since(instance, count):
    """Returns (sum of the rewards after the first `count`, error). The sum is None if there are none."""
    rewards = _list_of(instance)
    if len(rewards) < count:
        return None, "turn_rewards became shorter during a turn; only append to it"
    earned = None
    # sum() in Python 3.12 rounds floats differently from older versions and JavaScript.
    for reward in rewards[count:]:
        number, fault = scoring.number_of(reward, _CONTAINS)
        if fault is None and number is not None:
            earned = number if earned is None else earned + number
            number, fault = scoring.number_of(earned, _CONTAINS)
        if fault is not None:
            return None, fault
    return earned, None


def _list_of(instance):
    try:
        rewards = getattr(instance, "turn_rewards", None)
    except Exception:  # may be a user-defined property
        return []
    return rewards if isinstance(rewards, list) else []
