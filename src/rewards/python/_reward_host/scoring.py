"""Scores one batch with one reward, called the way TRL calls it."""

import math

from . import frames, trainer

# Columns that TRL does not pass to rewards.
_HIDDEN = ("prompt", "completion", "completion_ids")


def columns_of(rows):
    """Returns every dataset column by name, with one value per row. Rows without the column have the value None."""
    columns = {}
    for row in rows:
        for key in row.get("row") or ():
            columns.setdefault(key, None)
    columns = {key: [(row.get("row") or {}).get(key) for row in rows] for key in columns if key not in _HIDDEN}
    if "answer" not in columns:
        columns["answer"] = [row.get("answer") for row in rows]
    return columns


def arguments(reward, rows, step, metrics):
    """Returns the keyword arguments for the call."""
    conversational = all(row.get("messages") for row in rows) and len(rows) > 0
    given = columns_of(rows)
    if conversational:
        given["prompts"] = [row["messages"]["prompt"] for row in rows]
        given["completions"] = [row["messages"]["completion"] for row in rows]
    else:
        given["prompts"] = [row.get("prompt", "") for row in rows]
        given["completions"] = [row.get("completion", "") for row in rows]
    if rows and all(row.get("completionIds") is not None for row in rows):
        given["completion_ids"] = [row["completionIds"] for row in rows]
    given["trainer_state"] = trainer.trainer_state(step)
    given["log_extra"] = trainer.log_extra
    given["log_metric"] = metrics.log
    return given if reward.takes_all else {key: value for key, value in given.items() if key in reward.parameters}


def call(reward, given):
    """Calls the function and returns its result. Awaits the result of an asynchronous function."""
    if reward.is_async:
        return event_loop().run_until_complete(reward.function(**given))
    return reward.function(**given)


def check(returned, count):
    """Validates what a reward returned for `count` rows. Returns (values, errors)."""
    listed, fault = _as_list(returned, count)
    if fault:
        return [None] * count, [{"index": -1, "kind": "invalid", "message": fault}]
    values = [None] * count
    errors = []
    for index, value in enumerate(listed):
        # Fast path for the common case: for a small reward, this loop is most of the host's work.
        if type(value) is float and value - value == 0.0:
            values[index] = value
            continue
        number, fault = number_of(value)
        if fault:
            errors.append({"index": index, "kind": "invalid", "message": fault})
        else:
            values[index] = number
    return values, errors


def _as_list(returned, count):
    expected = f"instead of a list of {count} rewards"
    if isinstance(returned, (str, bytes, dict)) or returned is None:
        return None, f"returned {name_of(returned)} {expected}"
    if not isinstance(returned, list):
        # Convert arrays and tensors to plain numbers in a single call.
        tolist = getattr(returned, "tolist", None)
        try:
            returned = tolist() if callable(tolist) else list(returned)
        except TypeError:
            return None, f"returned {name_of(returned)} {expected}"
        if not isinstance(returned, list):
            return None, f"returned {name_of(returned)} {expected}"
    if len(returned) != count:
        return None, f"returned {len(returned)} rewards for {count} rows"
    return returned, None


def number_of(value, found="returned"):
    """Returns (number or None, error). The error starts with `found`, which says where the value was."""
    if value is None:
        return None, None
    if not isinstance(value, (bool, int, float)):
        # Handle numpy and torch scalars without importing either library.
        item = getattr(value, "item", None)
        if callable(item) and not isinstance(value, type):
            try:
                value = item()
            except Exception:
                return None, f"{found} {name_of(value)}, but a reward must be a number, or None if it does not apply"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None, f"{found} {name_of(value)}, but a reward must be a number, or None if it does not apply"
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        return None, f"{found} {number}, but a reward must be a finite number, or None if it does not apply"
    return number, None


def name_of(value):
    """Describes a value in a few words."""
    if value is None:
        return "None"
    if isinstance(value, bool):
        return f"the boolean {value}"
    if isinstance(value, (int, float)):
        return f"the number {str(value)[:40]}"
    if isinstance(value, str):
        return f"the string {value[:40]!r}"
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of length {len(value)}"
    return f"a {type(value).__name__}"


_loop = None


def event_loop():
    """Uses a single event loop for the host's lifetime, so clients that a reward keeps open remain valid. asyncio is
    imported on first use.
    """
    global _loop
    if _loop is None:
        import asyncio

        _loop = asyncio.new_event_loop()
        asyncio.set_event_loop(_loop)
    return _loop


def fault_of(error, file):
    """Converts an exception in user code to an error that applies to the whole batch."""
    kind = "exited" if isinstance(error, SystemExit) else "memory" if isinstance(error, MemoryError) else "threw"
    described = frames.describe(error, file)
    if kind == "exited":
        described["message"] = f"sys.exit({error.code!r}) was called"
    if kind == "memory":
        described["message"] = "MemoryError: the reward tried to exceed its memory limit"
    return {"index": -1, "kind": kind, **described}
