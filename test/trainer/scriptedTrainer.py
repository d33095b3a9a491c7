"""
A trainer that uses only the standard library, for testing the link's contract. Its model is a single number, `skill`,
which increases with every update and is the probability that a completion is correct. TRAINER_FAULT selects what goes
wrong and when, as `what` or `what@step`.
"""

import hashlib
import json
import os
import signal
import socket
import sys
import time

FAULT, _, AT = os.environ.get("TRAINER_FAULT", "").partition("@")
TOKEN = os.environ["REASONING_LAB_TRAINER_TOKEN"]


class Link:
    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(os.environ["REASONING_LAB_TRAINER_SOCKET"])
        self.file = self.socket.makefile("rb")
        self.last = 0

    def tell(self, method, params, **more):
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        self.raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def raw(self, data):
        self.socket.sendall(data)

    def call(self, method, params):
        self.last += 1
        self.tell(method, params, id=self.last)
        length = 0
        while (line := self.file.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        if length == 0:
            sys.exit("the driver is gone")
        answer = json.loads(self.file.read(length))
        if "error" in answer:
            sys.exit(f"refused: {answer['error']['message']}")
        return answer["result"]


def chance(*what):
    """Returns a number in [0, 1) determined by the arguments."""
    return int.from_bytes(hashlib.sha256(repr(what).encode()).digest()[:4], "big") / 2**32


class Trainer:
    def __init__(self, link):
        self.link = link
        self.assignment = link.call("begin", introduction())
        self.recipe = self.assignment["recipe"]
        self.skill, self.cursor, self.tokens, self.step = 0.0, 0, 0, 0
        resume = self.assignment["resume"]
        if resume:
            self.step = resume["step"]
            with open(os.path.join(resume["checkpoint"], "weights", "skill.json")) as file:
                self.skill = json.load(file)
            self.cursor = resume["state"].get("cursor", 0)
            self.tokens = resume["state"].get("tokens", 0)
        self.stage, self.done = (resume["stage"]["index"], resume["stage"]["step"]) if resume else (0, 0)
        self.hyperparameters = {}

    def complete(self, problem, *seed):
        right = chance(problem["prompt"], *seed) < self.skill
        return f"<think></think><answer>{problem['answer'] if right else 'no'}</answer>"

    def problems(self, split, first, count):
        return self.link.call("data/problems", {"split": split, "from": first, "count": count})["problems"]

    def perform(self, order):
        if order["do"] == "checkpoint":
            if FAULT == "full":
                return {"error": {"reason": "full", "message": "No space is left.", "action": "Free some."}}
            os.mkdir(os.path.join(order["folder"], "weights"))
            with open(os.path.join(order["folder"], "weights", "skill.json"), "w") as file:
                json.dump(self.skill, file)
            if FAULT == "link":
                os.symlink("/etc/hostname", os.path.join(order["folder"], "leak"))
            return {"value": {"state": {"cursor": self.cursor, "tokens": self.tokens}}}
        if order["do"] == "evaluate":
            return {
                "value": {
                    "samples": [
                        {
                            "problem": p["index"],
                            "sample": s,
                            "prompt": p["prompt"],
                            "answer": p["answer"],
                            "row": p["row"],
                            "completion": self.complete(p, "held out", s),
                            "truncated": False,
                        }
                        for p in self.problems("heldout", 0, order["problems"])
                        for s in range(order["samples"])
                    ]
                }
            }
        if order["do"] == "generate":
            text = f"skill {self.skill:.3f}"
            return {
                "value": {"completions": [[{"text": text, "truncated": False}] for _ in order["params"]["prompts"]]}
            }
        return {"error": {"reason": "unsupported", "message": "It cannot do that."}}

    def obey(self, orders):
        while True:
            answers = []
            for order in orders:
                if order["do"] in ("continue", "end-stage", "stop"):
                    self.hyperparameters = order.get("hyperparameters", {})
                    return order["do"]
                if order["do"] != "wait" and FAULT != "deaf":
                    answers.append({"id": order["id"], **self.perform(order)})
            orders = self.link.call("run/orders", {"answers": answers})["orders"]

    def score(self, rows):
        while True:
            answer = self.link.call("rewards/score", {"step": self.step, "rows": rows})
            if not answer["orders"]:
                return answer
            if self.obey(answer["orders"]) != "continue":
                return None

    def train(self):
        ready = {"parameters": 1, "trained": 1, "context": 64}
        if self.obey(self.link.call("ready", ready)["orders"]) == "stop":
            return
        stages = self.recipe["stages"]
        while self.stage < len(stages):
            stage = stages[self.stage]
            place = {"index": self.stage, "type": stage["type"], "step": self.done}
            verdict = self.obey(self.link.call("stage", place)["orders"])
            while verdict == "continue":
                verdict = self.update(stage)
            if verdict == "stop":
                return
            self.stage, self.done = self.stage + 1, 0
        self.link.call("finished", {})

    def update(self, stage):
        step = self.step + 1
        if str(step) == AT:
            fail_at_step(self.link)
        report = {"metrics": {"learning_rate": self.hyperparameters.get("learning_rate", stage["learning_rate"])}}
        if stage["type"] == "grpo":
            size = stage["num_generations"]
            posed = [p for p in self.problems("training", self.cursor, stage["prompts_per_step"]) for _ in range(size)]
            rows = [
                {
                    "prompt": p["prompt"],
                    "completion": self.complete(p, step, i),
                    "answer": p["answer"],
                    "row": p["row"],
                    "truncated": False,
                }
                for i, p in enumerate(posed)
            ]
            scored = self.score(rows)
            if scored is None:
                return "stop"
            self.cursor += stage["prompts_per_step"]
            rewards = [row["reward"] for row in scored["rows"]]
            known = [value for value in rewards if value is not None]
            report["metrics"] |= {"reward": sum(known) / max(1, len(known)), **scored["metrics"]}
            lines = [
                {
                    "step": step,
                    "stage": "grpo",
                    "group": i // size,
                    "index": i % size,
                    **row,
                    "rewards": score["rewards"],
                    "reward": score["reward"],
                    "advantage": None,
                }
                for i, (row, score) in enumerate(zip(rows, scored["rows"], strict=True))
            ]
            report["rollouts"] = [{"lines": lines}]
            if step % 2 == 0:
                # Sent while the update is being computed, or every other time together with it.
                told = step + (1 if FAULT == "ahead" else 0)
                self.link.tell("rollouts", {"step": told, "rollouts": report.pop("rollouts")})
        self.skill = min(1.0, self.skill + 0.02)
        self.tokens += 10
        self.done += 1
        told = step + (5 if FAULT == "order" else 0)
        orders = self.link.call("step", {"step": told, "batchEnds": True, "tokens": self.tokens, **report})["orders"]
        self.step = step
        return self.obey(orders)


def introduction():
    return {
        "protocol": 2 if FAULT == "version" else 1,
        "token": "wrong" if FAULT == "token" else TOKEN,
        "pid": os.getpid(),
        "processes": 1,
        "versions": {"torch": "0.0"},
        "device": "cpu (scripted)",
        "kind": "cpu",
    }


def fail_at_step(link):
    if FAULT == "hang":
        time.sleep(3600)
    elif FAULT == "raise":
        raise ValueError("the loss is odd")
    elif FAULT == "leave":
        sys.exit(0)
    elif FAULT == "garbage":
        link.raw(b"\x00\xffnot a message" * 1000)
        link.file.read()
    elif FAULT == "huge":
        link.raw(b"Content-Length: 900000000\r\n\r\n{")
        link.file.read()
    elif FAULT == "fault":
        link.call("fault", {"reason": "unsupported", "message": "No such thing.", "action": "Do another."})
        sys.exit(2)
    elif FAULT.startswith("SIG"):
        os.kill(os.getpid(), getattr(signal, FAULT))


if __name__ == "__main__":
    if "TRAINER_PIDS" in os.environ:
        with open(os.environ["TRAINER_PIDS"], "a") as pids:
            pids.write(f"{os.getpid()}\n")
    if FAULT == "slow":
        time.sleep(3600)
    if FAULT == "refuse":
        sys.exit("No torch is here.\nInstall it.")
    trainer = Trainer(Link())
    if trainer.assignment["mode"] == "serve":
        trainer.obey(trainer.link.call("ready", {"parameters": 1, "trained": 1, "context": 64})["orders"])
    else:
        trainer.train()
    if FAULT == "linger":
        time.sleep(2)
