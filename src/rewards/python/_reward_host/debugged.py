"""Debugger mode: reads a request from a file, runs it, and writes the reply to another file. Output is not captured, so it
appears in the debug console.
"""

import json

from . import frames
from .module_file import LoadFault


def answer_once(request_path, reply_path, run):
    with open(request_path, encoding="utf-8") as file:
        request = json.load(file)
    try:
        reply = {"reply": run(request)}
    except LoadFault as fault:
        reply = {"failure": fault.data}
    except Exception as error:
        reply = {"failure": {"reason": "internal", "message": frames.message_of(error)}}
    with open(reply_path, "w", encoding="utf-8") as file:
        json.dump(reply, file, allow_nan=False)
