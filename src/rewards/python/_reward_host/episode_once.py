"""Debugger mode: `reward_host.py --episode REQUEST REPLY` plays the episode in a file and writes the result. The
environment variable REASONING_LAB_TURN limits breakpoints to a turn: "0" during the reset, then the 1-based turn
number.
"""

import os

from .capture import Capture
from .debugged import answer_once
from .environments import Environments


def main(request_path, reply_path):
    answer_once(request_path, reply_path, _play)


def _play(request):
    environments = Environments(Capture())
    environments.load(request["load"])
    os.environ["REASONING_LAB_TURN"] = "0"
    reset = environments.reset({"instance": 0, **request["reset"]})
    played = {"reset": reset, "turns": [], "reward": None}
    last = reset
    for turn, calls in enumerate(request["calls"], 1):
        if "error" in last:
            break
        os.environ["REASONING_LAB_TURN"] = str(turn)
        last = environments.call({"instance": 0, "calls": calls})
        played["turns"].append(last)
    return played
