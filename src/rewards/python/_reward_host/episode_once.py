"""Debugger mode: `reward_host.py --episode REQUEST REPLY` plays the episode in a file and writes the result. Breakpoints
can be limited to a turn by the variable REASONING_LAB_TURN: "0" during the reset, then the number of the turn, from 1.
"""

import json
import os

from . import frames
from .capture import Capture
from .environments import Environments
from .module_file import LoadFault


def main(request_path, reply_path):
    with open(request_path, encoding="utf-8") as file:
        request = json.load(file)
    # Do not capture output, so it appears in the debug console.
    environments = Environments(Capture())
    try:
        environments.load(request["load"])
        reply = {"reply": _play(environments, request)}
    except LoadFault as fault:
        reply = {"failure": fault.data}
    except Exception as error:
        reply = {"failure": {"reason": "internal", "message": frames.message_of(error)}}
    with open(reply_path, "w", encoding="utf-8") as file:
        json.dump(reply, file, allow_nan=False)


def _play(environments, request):
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
