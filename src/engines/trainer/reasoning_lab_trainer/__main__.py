"""Entry point for `python -m reasoning_lab_trainer`. The driver starts it, either directly or through torchrun, and
passes the socket and token in the environment.
"""

from __future__ import annotations

import os
import sys

from .failure import Failure
from .link.client import Link
from .link.messages import SOCKET_VARIABLE, TOKEN_VARIABLE
from .link.transport import connect
from .loading import loading

USAGE = (
    f"The trainer must be started by an engine, which sets {SOCKET_VARIABLE} and {TOKEN_VARIABLE} in its environment."
)


def main() -> int:
    """Runs the trainer and returns the exit code; see `course.run.run`."""
    socket = os.environ.get(SOCKET_VARIABLE)
    token = os.environ.pop(TOKEN_VARIABLE, None)
    if not socket or not token:
        print(USAGE, file=sys.stderr)
        return 2
    try:
        with loading():
            from .course.environment import joined_world
            from .course.run import run
    except ImportError as error:
        print(f"Python at {sys.executable} is missing packages required for training: {error}.", file=sys.stderr)
        print("Run Set Up PyTorch Engine, or install reasoning-lab-trainer in this environment.", file=sys.stderr)
        return 2
    world = joined_world()
    link = None
    if world.main:
        try:
            link = Link(connect(socket))
        except Failure as failure:
            print(failure, file=sys.stderr)
            return 2
    return run(link, token, world)


if __name__ == "__main__":
    sys.exit(main())
