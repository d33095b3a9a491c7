"""
A Python process that has torch, Transformers and TRL loaded and runs scripts in forks of itself: loading them takes
five seconds of CPU time, forking takes milliseconds. Prints its socket path, and exits when its standard input
closes. A connection carries one line of JSON, {script or module, args, cwd, env, input, output}, and receives one
back, {status}. If the connection closes before that, the script is killed. See loadedPython.ts.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import runpy
import select
import signal
import socket
import sys
import tempfile
import threading
import traceback
from typing import Any


def load() -> None:
    """Imports everything that scripts need, with garbage collection disabled because imports create no garbage."""
    gc.disable()
    import datasets  # noqa: F401
    import peft  # noqa: F401
    import torch  # noqa: F401
    import transformers.models.llama.modeling_llama  # noqa: F401
    import trl.experimental.prm  # noqa: F401
    from transformers import Trainer  # noqa: F401
    from trl import DPOTrainer, GRPOTrainer, RewardTrainer, RLOOTrainer, SFTTrainer  # noqa: F401

    # Freeze the loaded objects so that forks keep sharing their memory.
    gc.freeze()
    gc.enable()


def run(request: dict[str, Any]) -> int:
    """Turns this fork into the process that the request describes. Returns the exit status."""
    os.setpgid(0, 0)
    os.environ.clear()
    os.environ.update(request["env"])
    tempfile.tempdir = None
    os.chdir(request["cwd"])
    with tempfile.TemporaryFile() as given:
        given.write(request["input"].encode())
        given.seek(0)
        os.dup2(given.fileno(), 0)
    output = os.open(request["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    errors = os.open(f"{request['output']}.err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(errors, 2)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.path[:0] = [path for path in request["env"].get("PYTHONPATH", "").split(os.pathsep) if path]
    try:
        if "module" in request:
            sys.argv = [request["module"], *request["args"]]
            runpy.run_module(request["module"], run_name="__main__", alter_sys=True)
        else:
            sys.argv = [request["script"], *request["args"]]
            sys.path.insert(0, os.path.dirname(request["script"]))
            runpy.run_path(request["script"], run_name="__main__")
        return 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def serve(connection: socket.socket) -> None:
    """In a fork: forks again for the script, waits for it, and kills it if the client disconnects."""
    request = json.loads(connection.makefile(encoding="utf-8").readline())
    script = os.fork()
    if script == 0:
        connection.close()
        os._exit(run(request))

    def told_when_over() -> None:
        status = os.waitstatus_to_exitcode(os.waitpid(script, 0)[1])
        connection.sendall(json.dumps({"status": status}).encode() + b"\n")
        os._exit(0)

    threading.Thread(target=told_when_over, daemon=True).start()
    while connection.recv(1):
        pass
    with contextlib.suppress(ProcessLookupError):
        os.kill(script, signal.SIGKILL)
        os.killpg(script, signal.SIGKILL)
    os._exit(1)


def main() -> None:
    listener = socket.socket(socket.AF_UNIX)
    # Use the folder for temporary files, which is removed as a whole.
    path = os.path.join(tempfile.mkdtemp(), "s")
    listener.bind(path)
    listener.listen(64)
    print(path, flush=True)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    loaded = False
    while True:
        readable, _, _ = select.select([0, listener], [], [])
        if 0 in readable and not os.read(0, 4096):
            return
        if listener not in readable:
            continue
        connection, _ = listener.accept()
        if not loaded:
            load()
            loaded = True
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                serve(connection)
            except BaseException:
                traceback.print_exc()
            os._exit(1)
        connection.close()


if __name__ == "__main__":
    main()
