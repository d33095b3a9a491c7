"""Messages between trainer and driver, whatever they contain and however their bytes arrive."""

from __future__ import annotations

import contextlib
import json
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import fails
from reasoning_lab_trainer.link import forwarding
from reasoning_lab_trainer.link.client import Link
from reasoning_lab_trainer.link.forwarding import Forwarder, forwarded_link
from reasoning_lab_trainer.link.framing import HEADER_BYTES, MessageReader, Written, as_json, encode


class Bytes:
    """A stream that returns its bytes in chunks of a fixed size."""

    def __init__(self, data: bytes, piece: int) -> None:
        self.data, self.piece = data, piece

    def read(self, most: int) -> bytes:
        taken, self.data = self.data[: self.piece], self.data[self.piece :]
        return taken

    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
def test_reads_messages_in_any_pieces(piece: int) -> None:
    messages = [{"id": 1, "result": {"text": "é\u2028🙂\0" * 300}}, {"id": 2, "result": {}}]
    reader = MessageReader(Bytes(b"".join(encode(message) for message in messages), piece))
    assert [reader.read(), reader.read(), reader.read()] == [*messages, None]


def test_writes_what_json_can_hold() -> None:
    body = encode({"a": float("nan"), "b": [1.5, float("-inf")], "c": "\ud800 half of a pair"}).partition(b"\r\n\r\n")[
        2
    ]
    assert json.loads(body) == {"a": None, "b": [1.5, None], "c": "\ud800 half of a pair"}
    assert b"NaN" not in body


def test_takes_parameters_that_are_written_already() -> None:
    rows = [{"text": "é\u2028", "loss": float("nan")}, {"text": "\ud800 half"}]
    ready = Written(as_json(rows))
    for params in ({"rows": ready}, {"step": 3, "rows": ready, "metrics": {"loss": float("inf")}}):
        body = encode({"jsonrpc": "2.0", "id": 1, "method": "step", "params": params}).partition(b"\r\n\r\n")[2]
        told = json.loads(body)
        expected = [{"text": "é\u2028", "loss": None}, {"text": "\ud800 half"}]
        assert told == {"jsonrpc": "2.0", "id": 1, "method": "step", "params": {**params, "rows": expected}} | (
            {"params": {"step": 3, "rows": expected, "metrics": {"loss": None}}} if "step" in params else {}
        )


def test_refuses_what_is_no_message() -> None:
    with fails("corrupt", "an invalid message"):
        MessageReader(Bytes(b"x" * (HEADER_BYTES + 1), 4096)).read()
    with fails("corrupt", "without a Content-Length"):
        MessageReader(Bytes(b"Hello: you\r\n\r\n", 4096)).read()
    with fails("corrupt", "without a Content-Length"):
        MessageReader(Bytes(b"Content-Length: 99999999999999\r\n\r\n", 4096)).read()
    with fails("corrupt", "not valid JSON"):
        MessageReader(Bytes(b"Content-Length: 2\r\n\r\n{x", 4096)).read()


def test_tells_what_the_driver_refuses_and_that_it_is_gone() -> None:
    refusal = {
        "code": -31000,
        "message": "no",
        "data": {"reason": "full", "message": "The disk is full.", "action": "Go."},
    }
    answers = encode({"method": "noise"}) + encode({"id": 1, "error": refusal})
    link = Link(Bytes(answers, 64))
    with fails("full", "The disk is full.", "Go."):
        link.call("step", {})
    with fails("unavailable", "connection to the driver was lost"):
        link.call("step", {})


def test_carries_a_large_batch() -> None:
    here, there = socket.socketpair()
    import threading

    from scripted_driver import SocketOfPair

    big = {"rows": ["0123456789" * 1000] * 500}

    def echo() -> None:
        stream = SocketOfPair(there)
        message = MessageReader(stream).read() or {}
        stream.write(encode({"id": message["id"], "result": message["params"]}))

    thread = threading.Thread(target=echo)
    thread.start()
    assert Link(SocketOfPair(here)).call("echo", big) == big
    thread.join()


def test_requests_of_several_threads_and_processes_do_not_wait_for_each_other() -> None:
    here, there = socket.socketpair()
    from scripted_driver import SocketOfPair

    link = Link(SocketOfPair(here))
    stream = SocketOfPair(there)
    reader = MessageReader(stream)
    forwarder = Forwarder(link, frozenset({"play"}))
    host, port, _ = forwarder.address
    with ThreadPoolExecutor(4) as threads:
        # The replies come in the opposite order.
        own = threads.submit(link.call, "score", {"rows": 1})
        asked = [reader.read() or {}]
        others = [forwarded_link(forwarder.address, rank) for rank in (1, 2)]
        played = [threads.submit(other.call, "play", {"instance": 7}) for other in others]
        asked += [reader.read() or {} for _ in others]
        assert sorted(one["params"].get("process", 0) for one in asked) == [0, 1, 2]
        for message in reversed(asked):
            stream.write(encode({"id": [1], "result": {}}) + encode({"id": message["id"], "result": message["params"]}))
        assert own.result(10) == {"rows": 1}
        assert [one.result(10) for one in played] == [{"instance": 7, "process": rank} for rank in (1, 2)]
        with fails("unsupported", "Processes cannot send finished to the driver."):
            others[0].call("finished", {})
        stranger = forwarded_link((host, port, "0" * 64), 1)
        with fails("unavailable", "connection to the driver was lost"):
            stranger.call("play", {"instance": 7})
        # All of them learn that the driver is gone.
        waiting = [threads.submit(link.call, "score", {}), threads.submit(others[0].call, "play", {})]
        assert {(reader.read() or {})["method"] for _ in waiting} == {"score", "play"}
        there.close()
        for each in waiting:
            with fails("unavailable", "connection to the driver was lost"):
                each.result(10)
    forwarder.close()
    with fails("unavailable", "connection to the driver was lost"):
        others[1].call("play", {})


def test_connections_without_the_token_do_not_keep_processes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "MOST_STRANGERS", 4)
    here, there = socket.socketpair()
    from scripted_driver import SocketOfPair

    forwarder = Forwarder(Link(SocketOfPair(here)), frozenset({"play"}))
    host, port, _ = forwarder.address
    process = forwarded_link(forwarder.address, 1)
    stream = SocketOfPair(there)
    reader = MessageReader(stream)

    def play() -> None:
        with ThreadPoolExecutor(1) as threads:
            played = threads.submit(process.call, "play", {})
            message = reader.read() or {}
            stream.write(encode({"id": message["id"], "result": message["params"]}))
            assert played.result(10) == {"process": 1}

    play()
    silent = [socket.create_connection((host, port), timeout=10) for _ in range(20)]
    # The oldest were closed; the last four may wait for a token.
    assert all(one.recv(1) == b"" for one in silent[:16])
    for one in silent[16:]:
        one.setblocking(False)
        with pytest.raises(BlockingIOError):
            one.recv(1)
    play()
    second = forwarded_link(forwarder.address, 2)
    with ThreadPoolExecutor(1) as threads:
        played = threads.submit(second.call, "play", {})
        message = reader.read() or {}
        stream.write(encode({"id": message["id"], "result": message["params"]}))
        assert played.result(10) == {"process": 2}
    forwarder.close()
    for one in silent:
        one.close()


def test_a_connection_that_sends_its_token_slowly_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "JOIN_SECONDS", 1.0)
    here, there = socket.socketpair()
    from scripted_driver import SocketOfPair

    forwarder = Forwarder(Link(SocketOfPair(here)), frozenset({"play"}))
    host, port, _ = forwarder.address
    with socket.create_connection((host, port)) as slow, pytest.raises(OSError):
        while True:
            slow.sendall(b"0")
            slow.settimeout(0.3)
            with contextlib.suppress(TimeoutError):
                if slow.recv(1) == b"":
                    raise OSError("ended")
    forwarder.close()
    there.close()
