"""
Stands in for the tests' Python: runs trainers and the parts of a Ray cluster in forks of a process that has their
packages loaded, and behaves like the fork. It passes on its streams, environment and working folder, forwards signals,
and ends with the same exit status or signal. If it is killed, so is the fork. Everything else runs in the real Python.
See loaded_python.py, which writes programs that run this one.

forked_python.py OWN_PATH SOCKET PYTHON ARGUMENTS...
"""

import json
import os
import resource
import signal
import socket
import sys

MODULES = ("reasoning_lab_trainer", "reasoning_lab_trainer.ray.job")
SCRIPTS = ("ray/_private/workers/setup_worker.py", "ray/_private/workers/default_worker.py")
FORWARDED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


def described(arguments: list[str]) -> "dict[str, object] | None":
    """Returns what a fork runs, or None if the real Python has to run it."""
    if arguments[:1] == ["-m"] and arguments[1] in MODULES:
        return {"module": arguments[1], "args": arguments[2:]}
    if arguments and arguments[0].endswith(SCRIPTS):
        return {"script": arguments[0], "args": arguments[1:]}
    return None


def with_own_worker(argument: str, program: str) -> str:
    """Makes Ray's setup of a worker start the worker itself with this program."""
    name, _, value = argument.partition("=")
    if name != "--serialized-runtime-env-context":
        return argument
    return f"{name}={json.dumps({**json.loads(value), 'py_executable': program})}"


def main() -> None:
    program, path, python, *arguments = sys.argv[1:]
    arguments = [with_own_worker(argument, program) for argument in arguments]
    what = described(arguments)
    if what is None:
        os.execv(python, [python, *arguments])
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    request = {**what, "cwd": os.getcwd(), "env": dict(os.environ)}
    data = json.dumps(request).encode() + b"\n"
    sent = socket.send_fds(connection, [data], [0, 1, 2])
    connection.sendall(data[sent:])
    for forwarded in FORWARDED:
        signal.signal(forwarded, lambda number, _: connection.sendall(bytes([number])))
    reply = connection.makefile().readline()
    if not reply:
        sys.exit("The Python that tests share has ended")
    status = json.loads(reply)["status"]
    if status < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


main()
