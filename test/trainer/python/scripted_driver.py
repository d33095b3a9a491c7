"""
A minimal driver for testing the trainer alone: answers every request on the link and records it.
"""

from __future__ import annotations

import base64
import math
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any

from reasoning_lab_trainer.link.client import Link
from reasoning_lab_trainer.link.framing import MessageReader, encode

Json = dict[str, Any]
CONTINUE: list[Json] = [{"do": "continue", "hyperparameters": {}}]


class SocketOfPair:
    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def read(self, most: int) -> bytes:
        return self._end.recv(most)

    def write(self, data: bytes) -> None:
        self._end.sendall(data)

    def close(self) -> None:
        self._end.close()


def lines_of(block: Json) -> list[Json]:
    """Converts a process's rollouts to the format in a run, with None for unknown token values."""
    told = block.get("tokens")
    count = sum(line.get("tokens", 0) for line in block["lines"])
    assert count == 0 or told is not None
    if told is None:
        return block["lines"]
    lists: dict[str, list[Any]] = {"text": [told["pieces"][place] for place in unpacked("I", told["text"])]}
    for name, text in told["numbers"].items():
        lists[name] = [value if math.isfinite(value) else None for value in unpacked("f", text)]
    assert all(len(values) == count for values in lists.values())
    start = 0
    for line in block["lines"]:
        end = start + line["tokens"]
        line["tokens"] = {name: values[start:end] for name, values in lists.items()}
        start = end
    return block["lines"]


def unpacked(kind: str, text: str) -> tuple[Any, ...]:
    data = base64.b64decode(text, validate=True)
    return struct.unpack(f"<{len(data) // 4}{kind}", data)


class ScriptedDriver:
    """
    `orders(method, params)` returns the commands for a request that can be answered with commands, or None to
    continue. `rewards(row)` scores one row. Problems are two-digit additions.
    """

    def __init__(
        self,
        recipe: Json,
        *,
        rewards: Callable[[Json], dict[str, float | None]] | None = None,
        orders: Callable[[str, Json], list[Json] | None] | None = None,
        resume: Json | None = None,
        mode: str = "train",
        new_model: Json | None = None,
    ) -> None:
        self.recipe = recipe
        self.columns = [{"name": r["use"], "weight": r.get("weight", 1.0), "file": None} for r in recipe["rewards"]]
        self.rewards = rewards or digits_reward
        self.orders = orders or (lambda method, params: None)
        self.resume = resume
        self.mode = mode
        self.new_model = new_model
        self.asked: list[tuple[str, Json]] = []
        self.answers: list[Json] = []
        self.problem: Callable[[int], Json] = addition
        self.on_pictures: Callable[[list[Json]], None] = lambda files: None
        here, there = socket.socketpair()
        self.link = Link(SocketOfPair(there))
        self.thread = self.serve(here)

    def of(self, method: str) -> list[Json]:
        """Returns the parameters of all requests for a method."""
        return [params for name, params in self.asked if name == method]

    @property
    def steps(self) -> list[Json]:
        return self.of("step")

    def close(self) -> None:
        self.link.close()
        self.thread.join(10)

    def serve(self, connection: socket.socket) -> threading.Thread:
        """Answers requests from a connection in a separate thread."""
        thread = threading.Thread(target=self._serve, args=[SocketOfPair(connection)], daemon=True)
        thread.start()
        return thread

    def _serve(self, stream: SocketOfPair) -> None:
        reader = MessageReader(stream)
        ahead: Json | None = None
        while (message := reader.read()) is not None:
            params = message["params"]
            if "id" not in message:
                ahead = {**params, "method": message["method"]}
                continue
            if message["method"] == "step" and ahead is not None:
                # The rollouts were sent while the update was being computed and belong to it.
                assert "rollouts" not in params and ahead["method"] == "rollouts" and ahead["step"] == params["step"]
                params["rollouts"], ahead = ahead["rollouts"], None
            if "rollouts" in params:
                for block in params["rollouts"]:
                    if "pictures" in block:
                        self.on_pictures(block["pictures"])
                params["rollouts"] = [line for block in params["rollouts"] for line in lines_of(block)]
            self.asked.append((message["method"], params))
            try:
                answer: Json = {"result": self._answer(message["method"], params)}
            except Exception as error:
                answer = {"error": {"code": -31000, "message": repr(error)}}
            stream.write(encode({"jsonrpc": "2.0", "id": message["id"], **answer}))

    def _answer(self, method: str, params: Json) -> Json:
        if method == "begin":
            return {
                "mode": self.mode,
                "run": {"id": "test", "name": "test", "folder": "/nowhere"},
                "recipe": self.recipe,
                "columns": self.columns,
                "resume": self.resume,
                "newModel": self.new_model,
                "problems": True,
            }
        if method == "data/problems":
            start = params["from"] if params["split"] == "training" else 1_000_000 + params["from"]
            return {"problems": [self.problem(i) for i in range(start, start + params["count"])], "total": None}
        if method == "rewards/score":
            orders = self.orders(method, params)
            if orders:
                return {"orders": orders, "rows": [], "metrics": {}}
            return {"orders": [], "rows": [self._scored(row) for row in params["rows"]], "metrics": {}}
        if method in ("stage", "step", "ready", "run/orders"):
            if method == "run/orders":
                self.answers += params["answers"]
            orders = self.orders(method, params)
            return {"orders": CONTINUE if orders is None else orders}
        return {}

    def _scored(self, row: Json) -> Json:
        values = self.rewards(row)
        applied = [values[c["name"]] * c["weight"] for c in self.columns if values[c["name"]] is not None]
        return {"rewards": values, "errors": None, "reward": sum(applied) if applied else None}


def addition(index: int) -> Json:
    a, b = index * 7919 % 90 + 10, index * 104729 % 90 + 10
    return {
        "index": index,
        "prompt": f"{a}+{b}=",
        "answer": str(a + b),
        "solution": None,
        "row": {"prompt": f"{a}+{b}=", "answer": str(a + b)},
    }


def digits_reward(row: Json) -> dict[str, float | None]:
    """Dense reward: the fraction of characters that are digits, and how close the length is to four."""
    text = row["completion"]
    digits = sum(c.isdigit() for c in text) / max(1, len(text))
    return {"digits": digits, "length": 1.0 - min(4, abs(4 - len(text))) / 4}
