"""Handles requests. One thread reads them, and the main thread runs user code."""

import os
import queue
import signal
import sys
import threading

from . import frames
from .capture import Capture
from .channel import Channel
from .module_file import LoadFault
from .rewards import Rewards

_LOAD_FAILED = -31001
_CANCELLED = -32800
_INTERNAL = -32603
_METHOD_NOT_FOUND = -32601

_OF_ENVIRONMENTS = frozenset(["load", "reset", "call", "reward", "play", "end", "rows"])


class Cancelled(BaseException):
    """Raised in user code when its request is canceled. Not a subclass of Exception, so user code is unlikely to catch
    it.
    """


class Server:
    def __init__(self):
        self._channel = Channel(3, 4)
        self._capture = Capture()
        self._rewards = Rewards(self._capture, (Cancelled,))
        self._environments = None
        self._work = queue.SimpleQueue()
        self._pid = os.getpid()
        self._main = threading.main_thread().ident
        # ID of the current request, or None between requests.
        self._running = None
        self._cancelled = set()

    def run(self):
        self._capture.install()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._channel.close)
        signal.signal(signal.SIGINT, self._interrupted)
        threading.Thread(target=self._read, name="reward-host-requests", daemon=True).start()
        while True:
            self._answer(self._work.get())

    def _read(self):
        while True:
            try:
                message = self._channel.read()
            except Exception:
                message = None
            if message is None:
                os._exit(0)  # The parent process has exited or wants this process to exit.
            method = message.get("method")
            if method == "$/cancelRequest":
                self._cancel(message.get("params", {}).get("id"))
            elif method == "where":
                frame = sys._current_frames().get(self._main)
                place = {} if self._running is None else frames.describe_frame(frame, self._file)
                self._channel.reply(message.get("id"), place)
            elif "id" in message:
                self._work.put(message)

    def _cancel(self, message_id):
        self._cancelled.add(message_id)
        if self._running != message_id:
            return
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(self._main, signal.SIGINT)  # This also interrupts a sleep or a read.
        else:
            signal.raise_signal(signal.SIGINT)

    def _interrupted(self, *_):
        # Do nothing if the request has just been answered.
        if self._running is not None and self._running in self._cancelled:
            raise Cancelled

    def _answer(self, message):
        message_id = message["id"]
        try:
            if message_id in self._cancelled:
                raise Cancelled
            self._running = message_id
            try:
                result = self._handle(message.get("method"), message.get("params") or {})
            finally:
                self._running = None
            if os.getpid() != self._pid:
                os._exit(0)  # A process forked by user code has reached this point. It must not send anything.
            self._channel.reply(message_id, result)
        except Cancelled:
            self._channel.fail(message_id, _CANCELLED, "Canceled.")
        except LoadFault as fault:
            self._channel.fail(message_id, _LOAD_FAILED, str(fault), fault.data)
        except NotImplementedError:
            self._channel.fail(message_id, _METHOD_NOT_FOUND, "Unknown method.")
        except BaseException as error:
            if os.getpid() != self._pid:
                os._exit(1)
            self._channel.fail(message_id, _INTERNAL, frames.message_of(error))
        finally:
            self._running = None
            self._cancelled.discard(message_id)

    @property
    def _file(self):
        return self._rewards.file or (None if self._environments is None else self._environments.file)

    def _handle(self, method, params):
        if method in ("load", "environment/load") and self._file is not None:
            raise LoadFault(reason="internal", message="This host has already loaded a file")
        if method in ("load", "score"):
            return getattr(self._rewards, method)(params)
        kind, _, name = method.partition("/")
        if kind != "environment" or name not in _OF_ENVIRONMENTS:
            raise NotImplementedError
        if self._environments is None:
            # Imported on demand, because it takes a third of a reward host's startup time.
            from .environments import Environments

            self._environments = Environments(self._capture, (Cancelled,))
        return getattr(self._environments, name)(params)


def main():
    Server().run()
