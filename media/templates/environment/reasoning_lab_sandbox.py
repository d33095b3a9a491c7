"""Runs model-written code in Reasoning Lab's sandbox: no network, no files, limited time, memory and processes.

The sandbox is the program `reasoning-lab sandbox-run`. Environments that Reasoning Lab starts find it on their own;
other programs, such as a TRL script, need the reasoning-lab command on their PATH. Without a sandbox, nothing is run.
"""

import atexit
import json
import os
import shutil
import subprocess
import threading

__all__ = ["SandboxError", "check", "run"]


class SandboxError(RuntimeError):
    """Raised if no sandbox is available. The message says why."""


def check():
    """Raises SandboxError if code cannot be run here. Call it in reset, so that episodes fail with the reason."""
    run("python", ["-c", ""], {})


def run(program, args, files, stdin="", seconds=5.0, memory_mb=256):
    """Runs a program in a new sandbox and waits for it to end.

    `program` is "python" or "node". `files` are text files in its working directory, by name; it cannot change them.
    Returns {"end", "status", "stdout", "stderr"}: `end` is "exited", "signal", or the limit that was exceeded ("wall",
    "cpu", "memory", "processes", "output"). Raises SandboxError.
    """
    request = {
        "program": program,
        "args": args,
        "files": files,
        "stdin": stdin,
        "seconds": seconds,
        "memoryMb": memory_mb,
    }
    reply = _server.ask(request)
    if "error" in reply:
        raise SandboxError(reply["error"])
    return reply


def _command():
    node, programs = os.environ.get("REASONING_LAB_NODE"), os.environ.get("REASONING_LAB_DIST")
    if node and programs and os.path.isfile(os.path.join(programs, "cli.js")):
        return [node, os.path.join(programs, "cli.js")]
    found = shutil.which("reasoning-lab")
    if found is None:
        raise SandboxError(
            "Model-written code requires a sandbox, but the reasoning-lab command was not found. "
            "Install it and add it to your PATH."
        )
    return [found]


class _Server:
    """A process that runs one program after another. It ends with this process."""

    def __init__(self):
        self._lock = threading.Lock()
        self._process = None

    def ask(self, request):
        with self._lock:
            # A fork inherits its parent's server process, whose pipes it must not use.
            if self._process is None or self._owner != os.getpid() or self._process.poll() is not None:
                self._start()
            try:
                self._process.stdin.write(json.dumps(request) + "\n")
                self._process.stdin.flush()
                line = self._process.stdout.readline()
                if line:
                    return json.loads(line)
            except (OSError, ValueError):
                pass
            raise SandboxError(
                "The sandbox ended unexpectedly. Run `reasoning-lab sandbox-check` to see what is wrong."
            )

    def _start(self):
        # If Node is the editor's own executable, this makes it run as Node.
        environment = {**os.environ, "ELECTRON_RUN_AS_NODE": "1"}
        self._owner = os.getpid()
        self._process = subprocess.Popen(
            [*_command(), "sandbox-run"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            encoding="utf-8",
        )
        atexit.register(self._process.kill)


_server = _Server()
