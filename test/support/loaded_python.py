"""
A Python process that has torch, Transformers and TRL loaded and runs scripts in forks of itself: loading them takes
five seconds of CPU time, forking takes milliseconds. Prints the folder with its sockets, and exits when its standard
input closes.

A connection carries one line of JSON, {script or module, args, cwd, env}, with standard streams either as {input,
output} or as three file descriptors. Each later byte is a signal for the script. The connection receives one line back,
{status}. If it closes before that, the script is killed. The folder `python` contains a program that forks trainers. See
loadedPython.ts and forked_python.py.
"""

from __future__ import annotations

import contextlib
import faulthandler
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
from collections.abc import Iterator
from importlib import metadata
from typing import Any


@contextlib.contextmanager
def loading() -> Iterator[None]:
    """Imports with garbage collection disabled because imports create no garbage."""
    gc.disable()
    yield
    # Freeze the loaded objects so that forks keep sharing their memory.
    gc.freeze()
    gc.enable()


def keep_metadata() -> None:
    """Parses the metadata of each installed package once, which training runs otherwise do about 20 times each."""
    parse = metadata.Distribution.metadata.fget
    known: dict[str, Any] = {}

    def parsed(self: metadata.PathDistribution) -> Any:
        path = str(self._path)
        if path not in known:
            known[path] = parse(self)
        return known[path]

    metadata.PathDistribution.metadata = property(parsed)


def load() -> None:
    """Imports everything that scripts need."""
    keep_metadata()
    with loading():
        import datasets  # noqa: F401
        import peft  # noqa: F401
        import torch  # noqa: F401
        import transformers.models.llama.modeling_llama  # noqa: F401
        import trl.experimental.prm  # noqa: F401
        from transformers import Trainer  # noqa: F401
        from trl import DPOTrainer, GRPOTrainer, RewardTrainer, RLOOTrainer, SFTTrainer  # noqa: F401


def open_streams(request: dict[str, Any]) -> list[int]:
    """Opens the files that the request names for the standard streams."""
    with tempfile.TemporaryFile() as given:
        given.write(request["input"].encode())
        given.seek(0)
        source = os.dup(given.fileno())
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    return [source, os.open(request["output"], flags), os.open(f"{request['output']}.err", flags)]


def run(request: dict[str, Any], streams: list[int]) -> int:
    """Turns this fork into the process that the request describes. Returns the exit status."""
    os.setpgid(0, 0)
    os.environ.clear()
    os.environ.update(request["env"])
    tempfile.tempdir = None
    os.chdir(request["cwd"])
    for place, stream in enumerate(streams or open_streams(request)):
        os.dup2(stream, place)
        os.close(stream)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    if "PYTHONUNBUFFERED" in os.environ:
        sys.stdout.reconfigure(write_through=True)
    if "PYTHONFAULTHANDLER" in os.environ:
        faulthandler.enable()
    sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in os.environ
    # Replace this script's folder in sys.path.
    first = "" if "PYTHONSAFEPATH" in os.environ else request.get("script") or os.path.join(request["cwd"], "_")
    paths = [os.path.dirname(first), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    sys.path[:1] = [path for path in paths if path]
    try:
        if "module" in request:
            sys.argv = [request["module"], *request["args"]]
            runpy.run_module(request["module"], run_name="__main__", alter_sys=True)
        else:
            sys.argv = [request["script"], *request["args"]]
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
    line, streams = b"", []
    while not line.endswith(b"\n"):
        data, received, _, _ = socket.recv_fds(connection, 1 << 16, 3)
        if not data:
            return
        line += data
        streams += received
    request = json.loads(line)
    script = os.fork()
    if script == 0:
        connection.close()
        os._exit(run(request, streams))
    for stream in streams:
        os.close(stream)

    def told_when_over() -> None:
        status = os.waitstatus_to_exitcode(os.waitpid(script, 0)[1])
        connection.sendall(json.dumps({"status": status}).encode() + b"\n")
        os._exit(0)

    threading.Thread(target=told_when_over, daemon=True).start()
    while signals := connection.recv(1):
        with contextlib.suppress(ProcessLookupError):
            os.kill(script, signals[0])
    with contextlib.suppress(ProcessLookupError):
        os.kill(script, signal.SIGKILL)
        os.killpg(script, signal.SIGKILL)
    os._exit(1)


def listen(path: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    return listener


def write_program(folder: str, path: str) -> None:
    """Writes a program named `python` that forks from the process behind a socket; see forked_python.py."""
    os.mkdir(folder)
    code = os.path.join(os.path.dirname(os.path.abspath(__file__)), "forked_python.py")
    program = os.path.join(folder, "python")
    with open(program, "w") as file:
        file.write(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{code}" "{path}" "{sys.executable}" "$@"\n')
    os.chmod(program, 0o755)


def accept(listener: socket.socket) -> None:
    """Runs the next connection's script in a fork of this process."""
    connection, _ = listener.accept()
    if os.fork() == 0:
        listener.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        try:
            serve(connection)
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    connection.close()


def main() -> None:
    # Use the folder for temporary files, which is removed as a whole.
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "plain")
    listener = listen(path)
    write_program(os.path.join(folder, "python"), path)
    print(folder, flush=True)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    loaded = False
    while True:
        ready, _, _ = select.select([0, listener], [], [])
        if 0 in ready and not os.read(0, 4096):
            return
        if listener in ready:
            if not loaded:
                load()
                loaded = True
            accept(listener)


if __name__ == "__main__":
    main()
