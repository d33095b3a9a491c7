"""
Replaces the tests' Python: runs trainers in forks of a process that has their packages loaded, and behaves like the
fork. It passes on its streams, environment and working directory, forwards signals, and ends with the same exit status
or signal. If it is killed, so is the fork. Everything else runs in the real Python. See loaded_python.py, which writes
a program that runs this one.

forked_python.py SOCKET PYTHON ARGUMENTS...
"""

import json
import os
import resource
import signal
import socket
import sys

TRAINER = ["-m", "reasoning_lab_trainer"]
FORWARDED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


def main() -> None:
    path, python, *arguments = sys.argv[1:]
    if arguments[:2] != TRAINER:
        os.execv(python, [python, *arguments])
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    request = {"module": TRAINER[1], "args": arguments[2:], "cwd": os.getcwd(), "env": dict(os.environ)}
    data = json.dumps(request).encode() + b"\n"
    sent = socket.send_fds(connection, [data], [0, 1, 2])
    connection.sendall(data[sent:])
    for forwarded in FORWARDED:
        signal.signal(forwarded, lambda number, _: connection.sendall(bytes([number])))
    reply = connection.makefile().readline()
    if not reply:
        sys.exit("The shared Python process has exited")
    status = json.loads(reply)["status"]
    if status < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


main()
