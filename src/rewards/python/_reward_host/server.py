"""Answers requests: one thread reads them, the main thread runs user code."""

import os
import queue
import signal
import sys
import threading
import time

from . import frames, limits, reward_file, scoring, trainer
from .capture import Capture
from .channel import Channel
from .line_coverage import LineTracer

_LOAD_FAILED = -31001
_CANCELLED = -32800
_INTERNAL = -32603
_METHOD_NOT_FOUND = -32601


class Cancelled(BaseException):
    """Raised in user code when its request is cancelled; not an Exception, so that few catch it."""


class Server:
    def __init__(self):
        self._channel = Channel(3, 4)
        self._capture = Capture()
        self._work = queue.SimpleQueue()
        self._pid = os.getpid()
        self._main = threading.main_thread().ident
        self._file = None
        self._rewards = {}
        # Of the request that runs; None between requests.
        self._running = None
        self._cancelled = set()

    def run(self):
        self._capture.install()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._channel.close)
        signal.signal(signal.SIGINT, self._interrupted)
        threading.Thread(target=self._read, name="reward-host-requests", daemon=True).start()
        while True:
            self._answer(self._next())

    def _next(self):
        while True:
            try:
                return self._work.get()
            except Cancelled:
                pass  # came too late: its request is answered

    def _read(self):
        while True:
            try:
                message = self._channel.read()
            except Exception:
                message = None
            if message is None:
                os._exit(0)  # whoever started this process is gone, or wants it gone
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
            signal.pthread_kill(self._main, signal.SIGINT)  # also ends a sleep or a read
        else:
            signal.raise_signal(signal.SIGINT)

    def _interrupted(self, *_):
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
                os._exit(0)  # a process that user code forked came back: it has nothing to say
            self._channel.reply(message_id, result)
        except Cancelled:
            self._channel.fail(message_id, _CANCELLED, "Cancelled.")
        except reward_file.LoadFault as fault:
            self._channel.fail(message_id, _LOAD_FAILED, str(fault), fault.data)
        except NotImplementedError:
            self._channel.fail(message_id, _METHOD_NOT_FOUND, "There is no such request.")
        except BaseException as error:
            if os.getpid() != self._pid:
                os._exit(1)
            self._channel.fail(message_id, _INTERNAL, frames.message_of(error))
        finally:
            self._running = None
            self._cancelled.discard(message_id)

    def _handle(self, method, params):
        if method == "load":
            return self._load(params)
        if method == "score":
            return self._score(params)
        raise NotImplementedError

    def _load(self, params):
        if self._file is not None:
            raise reward_file.LoadFault(reason="internal", message="This host is loaded already")
        start = time.perf_counter()
        self._file = os.path.abspath(params["file"])
        os.environ.update(params.get("environment") or {})
        os.chdir(params["context"]["folder"] or os.path.dirname(self._file))
        limits.limit_memory(params.get("memoryMb"))
        self._rewards = reward_file.load(self._file)
        return {
            "rewards": [reward.describe() for reward in self._rewards.values()],
            "files": reward_file.local_files(self._file),
            "logs": self._capture.next(),
            "durationMs": (time.perf_counter() - start) * 1000,
        }

    def _score(self, params):
        reward = self._rewards.get(params["reward"])
        if reward is None:
            raise reward_file.LoadFault(reason="missing", message=f"There is no reward \"{params['reward']}\" here")
        rows = params["rows"]
        metrics = trainer.Metrics()
        given = scoring.arguments(reward, rows, params.get("step") or 0, metrics)
        tracer = LineTracer(self._file) if params.get("coverage") else None
        start = time.perf_counter()
        try:
            if tracer is None:
                returned = scoring.call(reward, given)
            else:
                with tracer:
                    returned = scoring.call(reward, given)
            values, errors = scoring.check(returned, len(rows))
        except Cancelled:
            raise
        except BaseException as error:
            values, errors = [None] * len(rows), [scoring.fault_of(error, self._file)]
        finally:
            duration = (time.perf_counter() - start) * 1000
        reply = {"values": values, "errors": errors, "logs": self._capture.next(), "durationMs": duration}
        if tracer is not None:
            reply["coverage"] = tracer.result()
        means = metrics.means()
        if means:
            reply["metrics"] = means
        return reply


def main():
    Server().run()
