"""Main function of a training process."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

from .. import __version__
from ..failure import Failure
from ..link.client import Link
from ..link.messages import PROTOCOL, Assignment
from ..loading import loading
from ..trl.version import check_version
from .faults import described
from .stage import RunStopped
from .versions import device_in_words, device_kind, versions
from .world import World


def run(link: Link | None, token: str, world: World) -> int:
    """Runs the driver's assignment. Called on every rank, but only rank 0 has a link. Returns the exit code: 0 if the
    run completed or was stopped, 2 for a failure that the user can fix, 1 for an internal error.
    """
    try:
        assignment = begin(link, token, world)
        check_version()
        # Load everything now, because an update to the extension can replace the installation folder.
        with loading():
            from .training import work

        work(link, world, assignment)
        return 0
    except RunStopped:
        return 0
    except Exception as error:
        return last_words(link, error)


def begin(link: Link | None, token: str, world: World) -> Assignment:
    """Connects to the driver and returns the same assignment on every rank."""
    answer: Any = None
    failure: Failure | None = None
    if link is not None:
        try:
            answer = link.call(
                "begin",
                {
                    "protocol": PROTOCOL,
                    "token": token,
                    "pid": os.getpid(),
                    "processes": world.size,
                    "versions": versions(__version__),
                    "device": device_in_words(world.size),
                    "kind": device_kind(),
                },
            )
        except Failure as refused:
            failure = refused
    answer, failure = world.broadcast((answer, failure))
    if failure is not None:
        raise failure
    return answer


def last_words(link: Link | None, error: Exception) -> int:
    """Reports to the driver and the log why the trainer is exiting."""
    failure = described(error)
    unexpected = failure is not error and failure.reason == "internal"
    stack = "".join(traceback.format_exception(error))
    print(stack if unexpected else f"{failure.reason}: {failure}", file=sys.stderr, flush=True)
    if link is not None:
        try:
            link.call("fault", {**failure.data(), **({"stack": stack[-20_000:]} if unexpected else {})})
        except Failure as gone:
            print(f"{gone}", file=sys.stderr)
    return 1 if unexpected else 2
