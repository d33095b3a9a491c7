"""Sends one control request for a remote driver that cannot see the storage: `python -m reasoning_lab_trainer.ray.relay
REQUEST`, where REQUEST is base64 of `{folder, method, params}`. Writes the request to the folder, waits for the reply
and prints it.
"""

from __future__ import annotations

import base64
import json
import sys
import time
import uuid
from pathlib import Path
from typing import Any

from .frames import print_frame
from .place import read_json, write_whole

SECONDS = 600.0


def ask(folder: Path, method: str, params: Any, seconds: float = SECONDS) -> dict[str, Any]:
    """Returns the reply from the run's driver, as written by `src/engines/driver/ray/requestFolder.ts`."""
    name = f"{uuid.uuid4().hex}.json"
    request, answer = folder / "requests" / name, folder / "answers" / name
    request.parent.mkdir(exist_ok=True)
    write_whole(request, json.dumps({"method": method, "params": params}))
    deadline = time.monotonic() + seconds
    try:
        while time.monotonic() < deadline:
            found = read_json(answer)
            if found is not None:
                return found
            time.sleep(0.2)
        return {
            "error": {"reason": "timeout", "message": f"The run did not respond to {method} within {seconds:.0f} s."}
        }
    finally:
        request.unlink(missing_ok=True)
        answer.unlink(missing_ok=True)


def main() -> int:
    request = json.loads(base64.b64decode(sys.argv[1]))
    answer = ask(Path(request["folder"]), request["method"], request["params"])
    print_frame({"k": "answer", "id": "", "answer": answer})
    return 0


if __name__ == "__main__":
    sys.exit(main())
