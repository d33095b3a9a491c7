"""Debugger mode: `reward_host.py --once REQUEST REPLY` loads and scores the request in a file and writes the result."""

import json

from . import frames
from .capture import Capture
from .module_file import LoadFault
from .rewards import Rewards


def main(request_path, reply_path):
    with open(request_path, encoding="utf-8") as file:
        request = json.load(file)
    # Do not capture output, so it appears in the debug console.
    rewards = Rewards(Capture())
    try:
        rewards.load(request["load"])
        reply = {"reply": rewards.score(request["score"])}
    except LoadFault as fault:
        reply = {"failure": fault.data}
    except Exception as error:
        reply = {"failure": {"reason": "internal", "message": frames.message_of(error)}}
    with open(reply_path, "w", encoding="utf-8") as file:
        json.dump(reply, file, allow_nan=False)
