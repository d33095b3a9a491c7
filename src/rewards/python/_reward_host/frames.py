"""Describes exceptions for the reward's author."""

import os
import traceback

_OWN = os.path.dirname(os.path.abspath(__file__))
_MAX_FRAMES = 12
_MAX_MESSAGE = 2000


def _cut(text):
    return text if len(text) <= _MAX_MESSAGE else text[:_MAX_MESSAGE] + "…"


def message_of(error):
    """Returns an exception's message, even if its __str__ method raises."""
    name = type(error).__name__
    try:
        text = str(error)
    except BaseException:
        text = ""
    return _cut(f"{name}: {text}" if text else name)


def describe(error, file):
    """Returns {message, stack?, line?}: frames outside this program, innermost first, and the line of the innermost
    frame in `file`.
    """
    return {"message": message_of(error), **_place(traceback.walk_tb(error.__traceback__), file)}


def describe_frame(frame, file):
    """Returns {stack?, line?} for a running frame."""
    stack = []
    while frame is not None:
        stack.append((frame, frame.f_lineno))
        frame = frame.f_back
    return _place(reversed(stack), file)


def _place(walk, file):
    found = []
    line = None
    for frame, number in walk:
        path = frame.f_code.co_filename
        if path.startswith(_OWN) or path.startswith("<frozen"):
            continue
        if path == file:
            line = number
        found.append(f"{path}:{number} in {frame.f_code.co_name}")
    place = {}
    if found:
        place["stack"] = "\n".join(reversed(found[-_MAX_FRAMES:]))
    if line is not None:
        place["line"] = line
    return place
