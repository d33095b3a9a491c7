"""Training on an environment: the recipe's key, TRL's loop over the link, and what rollouts record."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from _reward_host.environments import Environments
from reasoning_lab_trainer.course.run import run
from reasoning_lab_trainer.course.world import World
from reasoning_lab_trainer.failure import Failure
from reasoning_lab_trainer.policy.sampler import Sample, Sampler, Wish
from reasoning_lab_trainer.trl.environments import environment_class, observed
from reasoning_lab_trainer.trl.grpo import LabDPPOTrainer, LabGRPOTrainer
from reasoning_lab_trainer.trl.turn_credit import RewardedTurns, turn_advantages
from scripted_driver import CONTINUE, ScriptedDriver
from test_environment_contract import NoCapture, load
from test_tool_schemas import FAULTS, NAMES, Tools
from tiny_model import grpo_stage, recipe
from tool_model import write_model
from transformers.utils import get_json_schema

Json = dict[str, Any]


class EnvironmentDriver(ScriptedDriver):
    """Plays the part of the driver with an environment host in this process."""

    def __init__(self, asked: Json, file: Path, kind: str = "file") -> None:
        self.host = Environments(NoCapture())
        self.described = self.host.load({"file": str(file), "kind": kind, "seed": 1})["environment"]
        super().__init__(asked, rewards=lambda row: {"environment": None})
        self.judged: list[Json] = []
        self.weight = asked["rewards"][0]["weight"]
        self.instances: set[int] = set()

    def _answer(self, method: str, params: Json) -> Json:
        # Each process numbers its own instances.
        place = {"instance": (params.get("process", 0), params.get("instance"))}
        if method == "environment/describe":
            return {"environment": self.described}
        if method == "environment/reset":
            self.instances.add(params["instance"])
            return self.host.reset({**place, "row": params["row"], "state": True})
        if method == "environment/call":
            call = {"name": params["name"], "arguments": params["arguments"]}
            reply = self.host.call({**place, "calls": [call], "state": True})
            if "error" in reply:
                return {"error": reply["error"]}
            return {**reply["results"][0], "reward": reply.get("reward"), "state": reply["state"]}
        if method == "environment/reward":
            return self.host.reward({**place, "messages": params.get("messages")})
        if method == "environment/failed":
            return self.failed(params)
        if method == "rewards/score":
            self.judged += params["rows"]
            earned = params["known"]["environment"]
            weight = self.weight
            return {
                "orders": [],
                "rows": [{"rewards": {"environment": one}, "errors": None, "reward": weight * one} for one in earned],
                "metrics": {},
            }
        return super()._answer(method, params)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_model(tmp_path_factory.mktemp("tools"))


def recipe_with(model: str, tolerated: float = 1, **environment: Any) -> Json:
    stage = grpo_stage(2, num_generations=2, max_completion_length=3000, beta=0)
    return recipe(
        model,
        [stage],
        template={"name": "custom", "prompt": "{prompt}", "think": None, "answer": None, "chat": True},
        scoring={"pauseAbove": tolerated},
        rewards=[{"use": "environment", "name": "environment", "weight": 1.0}],
        environment={"file": "rewards/guess.env.py", "maxTurns": None, "turnSeconds": 10, **environment},
    )


CALLS = [
    {"name": "guess", "arguments": {"number": 1}},
    {"name": "peek", "arguments": {}},
    {"name": "guess", "arguments": {"self": 1}},
    {"name": "guess", "arguments": {"number": "one"}},
]
"""Calls of one message: the last three fail in TRL, in Python, and in the environment."""


def scripted_calls(scripts: list[list[str]]) -> Any:
    """Generates the messages of one script per completion in a batch, and then repeats the last message."""

    def generate(self: Any, prompt_ids: Any, *_: Any, **__: Any) -> Any:
        written = []
        for place, ids in enumerate(prompt_ids):
            text = self.processing_class.decode(ids)
            # Later turns are sampled only for the completions with calls, so the first message identifies the script.
            known = re.search(r"Script (\d)", text)
            number = place if known is None else int(known[1])
            turn = text.count("<|im_start|>assistant") - 1
            message = scripts[number][min(turn, len(scripts[number]) - 1)]
            written.append(self.processing_class(f"Script {number}. {message}")["input_ids"])
        return written, None

    return generate


def said(calls: list[Json]) -> str:
    return "\n".join(f"<tool_call>\n{json.dumps(call)}\n</tool_call>" for call in calls) + "<|im_end|>"


def scripted(rows: list[Json], per_process: int = 0) -> Any:
    """
    Writes the row's solution for the first completion of a group, and no call for the second.

    :param per_process: completions of each process
    """

    def generate(self: Any, prompt_ids: Any, *_: Any, **__: Any) -> Any:
        written = []
        for place, ids in enumerate(prompt_ids):
            text = self.processing_class.decode(ids)
            turn = text.count("<|im_start|>assistant") - 1
            calls = rows[int(re.search(r"Task (\d+)", text)[1]) - 1]["calls"]
            number = per_process * self.accelerator.process_index + place
            idle = turn >= len(calls) or (turn == 0 and number % 2 == 1)
            said = "I stop." if idle else f"<tool_call>\n{json.dumps(calls[turn])}\n</tool_call>"
            written.append(self.processing_class(said + "<|im_end|>")["input_ids"])
        return written, None

    return generate


def train(
    model: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    edit: str = "",
    status: int = 0,
    scripts: list[list[str]] | None = None,
    tolerated: float = 1,
    orders: Any = None,
    settings: Json | None = None,
    replaced: tuple[tuple[str, str], ...] = (),
    **environment: Any,
) -> tuple[EnvironmentDriver, list[Json], list[Json]]:
    """Returns the driver, its rollouts and the dataset's rows.

    :param settings: of the stage
    :param replaced: parts of the environment's code
    """
    file, rows = load("guess", tmp_path)
    text = file.read_text().replace("        # Everything comes from the row", f"{edit}\n        # Everything")
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    file.write_text(text)
    generate = scripted(rows) if scripts is None else scripted_calls(scripts)
    for trainer in (LabGRPOTrainer, LabDPPOTrainer):
        monkeypatch.setattr(trainer, "_generate_single_turn", generate)
    asked = recipe_with(model, tolerated, **environment)
    asked["stages"][0].update(settings or {})
    asked["rewards"][0]["weight"] = 0.5 if settings else 1.0
    driver = EnvironmentDriver(asked, file)
    if orders is not None:
        driver.orders = orders
    driver.problem = lambda index: {
        "index": index,
        "prompt": rows[index % len(rows)]["prompt"][0]["content"],
        "answer": rows[index % len(rows)]["answer"],
        "solution": None,
        "row": rows[index % len(rows)],
    }
    assert run(driver.link, "token", World()) == status, driver.of("fault")
    driver.close()
    return driver, [line for step in driver.steps for line in step["rollouts"]], rows


def test_episodes_are_trained_on_and_recorded(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver, lines, rows = train(model, tmp_path, monkeypatch)
    assert len(lines) == 8
    for line in lines:
        solved = line["index"] == 0
        row = rows[line["step"] * 2 - 2 + line["group"] % 2]
        assert line["rewards"] == {"environment": 1.0 if solved else 0.0}
        assert line["advantage"] == pytest.approx(0.7071 if solved else -0.7071, abs=1e-3)
        assert line["prompt"][-1]["content"].endswith("You have 7 guesses.")
        calls = row["calls"] if solved else []
        episode = line["extra"]["episode"]
        assert (episode["calls"], episode["failures"], episode["stop"]) == (len(calls), 0, "policy")
        assert line["prompt"][-1]["content"].endswith(episode["observation"])
        assert [turn["calls"] for turn in episode["turns"]] == [[call] for call in calls]
        assert [state["left"] for state in states(episode)] == [7 - made for made in range(len(calls) + 1)]
        answers = [(m["name"], m["content"]) for m in line["completion"] if m["role"] == "tool"]
        results = [result for turn in episode["turns"] for result in turn["results"]]
        assert [(result["name"], result["content"]) for result in results] == answers
        assert episode["seconds"] > sum(turn["seconds"] for turn in episode["turns"]) >= 0
        roles = [message["role"] for message in line["completion"]]
        assert roles == ["assistant", "tool"] * len(calls) + ["assistant"]
        said = [m["tool_calls"][0]["function"] for m in line["completion"] if m.get("tool_calls")]
        assert said == calls
        # The tokens that came from the environment are known, and no others.
        texts = line["tokens"]["text"]
        assert len(line["extra"]["observed"]) == len(calls)
        seen = ["".join(texts[start:end]) for start, end in line["extra"]["observed"]]
        assert all("<tool_response>" in text and "<tool_call>" not in text for text in seen)
    # Rewards get the messages with their roles, so a tool's result is not mistaken for the policy's text.
    judged = [row["messages"]["completion"] for row in driver.judged]
    assert judged == [line["completion"] for line in lines]
    assert driver.steps[0]["metrics"]["tools/call_frequency"] > 0.5
    metrics = driver.steps[0]["metrics"]
    assert metrics["tools/failure_frequency"] == metrics["environment/failed"] == metrics["environment/timeouts"] == 0
    # In this environment, every turn has one call.
    assert metrics["environment/turns"] == pytest.approx(metrics["tools/call_frequency"])
    assert metrics["environment/seconds"] == pytest.approx(metrics["time/environment"], rel=0.2, abs=0.005)
    assert driver.steps[0]["metrics"]["grad_norm"] > 0


TURN_REWARDS = (
    ("self.won = False", "self.won = False\n        self.turn_rewards = []"),
    ("self.left -= 1", "self.left -= 1\n        self.turn_rewards.append(PRICES[number])"),
    ("return 1.0 if self.won else 0.0", "return sum(self.turn_rewards)"),
    ("\nclass Made", "\nPRICES = {5: -0.25, 20: 0.0, 60: -0.125, 70: -0.125}\n\n\nclass Made"),
)

GUESSES = [[[5], [60]], [[60]], [[5, 60], [20], [70]], []]
"""The guesses of each turn, for the completions of a batch."""


def test_turns_have_their_own_advantages(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [[[{"name": "guess", "arguments": {"number": one}} for one in turn] for turn in row] for row in GUESSES]
    scripts = [[*map(said, row), "I stop.<|im_end|>"] for row in calls]
    settings = {"credit_assignment": "turn", "steps": 1}
    driver, lines, _ = train(model, tmp_path, monkeypatch, scripts=scripts, settings=settings, replaced=TURN_REWARDS)
    assert len(lines) == len(GUESSES)
    rewarded, runs = [], []
    for line, guesses in zip(lines, GUESSES, strict=True):
        episode, values = line["extra"]["episode"], line["tokens"]["advantage"]
        prices = {5: -0.25, 20: 0.0, 60: -0.125, 70: -0.125}
        earned = [sum(prices[one] for one in turn) for turn in guesses]
        assert [turn["reward"] for turn in episode["turns"]] == earned
        assert line["reward"] == pytest.approx(0.5 * sum(earned))
        rewarded.append(RewardedTurns(line["reward"], [0.5 * one for one in earned] + [None]))
        ends = [0, *(end for _, end in line["extra"]["observed"])]
        starts = [*(start for start, _ in line["extra"]["observed"]), len(values)]
        runs.append([values[first:last] for first, last in zip(ends, starts, strict=True)])
        assert not any(value for start, end in line["extra"]["observed"] for value in values[start:end])
        own = [value for turn in runs[-1] for value in turn]
        assert line["advantage"] == pytest.approx(sum(own) / len(own), abs=1e-5)
    for own, expected in zip(runs, turn_advantages(rewarded, 2, "group"), strict=True):
        for turn, value in zip(own, expected, strict=True):
            assert turn == pytest.approx([value] * len(turn), abs=1e-5)
    assert len({value for run in runs for turn in run for value in turn}) > 4
    metrics = driver.steps[0]["metrics"]
    assert metrics["groups/dead"] == 0
    trained = [value for run in runs for turn in run for value in turn]
    # In the first update, all ratios are 1.
    assert metrics["loss"] == pytest.approx(-sum(trained) / len(trained), abs=1e-5)
    assert metrics["grad_norm"] > 0


def test_turns_and_their_ends(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripts = [
        [said(CALLS), said(CALLS[:1])],
        [said(CALLS), said(CALLS[:1]), "I stop. " * 2000],
        ["x" * 2900 + said(CALLS[:1])],
        ["I stop.<|im_end|>"],
    ]
    driver, lines, _ = train(model, tmp_path, monkeypatch, scripts=scripts, maxTurns=2)
    limited, truncated, overlong, idle = (line["extra"]["episode"] for line in lines[:4])
    assert [one["stop"] for one in (limited, truncated, overlong, idle)] == ["turns", "length", "length", "policy"]
    for episode, line in zip((limited, truncated), lines, strict=False):
        first, second = episode["turns"]
        assert (first["calls"], second["calls"]) == (CALLS, CALLS[:1])
        assert [result["failed"] for result in first["results"]] == [False, True, True, True]
        assert [result["failed"] for result in second["results"]] == [False]
        # Only the first call of a turn reached the environment.
        assert [state["left"] for state in states(episode)] == [7, 6, 5]
        assert (episode["calls"], episode["failures"]) == (5, 3)
        answers = [message["content"] for message in line["completion"] if message["role"] == "tool"]
        assert [result["content"] for turn in episode["turns"] for result in turn["results"]] == answers
    # TRL removes results that do not fit, so the conversation ends with the call.
    assert [message["role"] for message in lines[2]["completion"]] == ["assistant"]
    assert lines[2]["extra"]["observed"] == []
    [turn] = overlong["turns"]
    assert (turn["calls"], [result["failed"] for result in turn["results"]]) == (CALLS[:1], [False])
    metrics = driver.steps[0]["metrics"]
    assert (metrics["tools/call_frequency"], metrics["environment/turns"]) == (11 / 4, 5 / 4)
    assert metrics["tools/failure_frequency"] == pytest.approx(6 / 11)


def states(episode: Json) -> list[Json]:
    return [episode["state"], *(turn["state"] for turn in episode["turns"])]


def test_a_failed_episode_is_recorded_and_excluded(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load("guess", tmp_path)[1][0]["number"]
    edit = f"        if number == {first}: raise KeyError('no level')"
    driver, lines, _ = train(model, tmp_path, monkeypatch, edit=edit)
    failed = [line for line in lines if "error" in line["extra"]["episode"]]
    assert [(line["step"], line["group"], line["index"]) for line in failed] == [(1, 0, 0), (1, 0, 1)]
    for line in failed:
        error = line["extra"]["episode"]["error"]
        assert error["kind"] == "threw" and "no level" in error["message"]
        assert line["extra"]["episode"]["stop"] == "failed"
        assert line["rewards"] == {"environment": None}
    assert driver.steps[0]["metrics"]["environment/failed"] == 2
    assert {line["rewards"]["environment"] for line in lines if line not in failed} == {0.0, 1.0}

    assert driver.steps[0]["metrics"]["rewards/environment/errors"] == 2
    assert "rewards/environment/errors" not in driver.steps[1]["metrics"]
    assert [alert["message"] for alert in driver.of("alert")] == [
        "2 of 4 episodes failed: KeyError: 'no level' (threw, line 15)."
    ]


def test_a_run_pauses_if_too_many_episodes_fail(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same batch is played again, so the run ends like one without failures."""
    whole, lines, _ = train(model, tmp_path, monkeypatch)
    down = tmp_path / "down"
    down.touch()
    edit = f"        if __import__('os').path.exists({str(down)!r}): raise KeyError('no level')"
    reports: list[Json] = []

    def failed(self: EnvironmentDriver, params: Json) -> Json:
        reports.append(params)
        down.unlink()
        return {"orders": CONTINUE}

    monkeypatch.setattr(EnvironmentDriver, "failed", failed, raising=False)
    driver, again, _ = train(model, tmp_path, monkeypatch, edit=edit, tolerated=0.9)
    [report] = reports
    assert (report["failed"], report["rows"], report["index"]) == (4, 4, 0)
    assert report["error"]["kind"] == "threw" and "no level" in report["error"]["message"]
    assert [plain(line) for line in again] == [plain(line) for line in lines]
    assert driver.steps[1]["metrics"]["loss"] == whole.steps[1]["metrics"]["loss"]
    assert driver.steps[0]["metrics"]["tools/call_frequency"] == whole.steps[0]["metrics"]["tools/call_frequency"]

    down.touch()
    monkeypatch.setattr(EnvironmentDriver, "failed", lambda self, params: {"orders": [{"do": "stop"}]})
    stopped, none, _ = train(model, tmp_path, monkeypatch, edit=edit, tolerated=0.9)
    assert (none, stopped.of("fault")) == ([], [])


def plain(line: Json) -> Json:
    """Returns a rollout without its timings."""
    episode = {**line["extra"]["episode"], "seconds": 0}
    episode["turns"] = [{**turn, "seconds": 0} for turn in episode["turns"]]
    return {**line, "extra": {**line["extra"], "episode": episode}}


def test_held_out_problems_are_episodes(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns are sampled one after the other, with a separate random stream each, in TRL's own loop."""
    seeds: list[str] = []

    def sample(self: Sampler, wishes: list[Wish], manner: Any) -> list[Sample]:
        made = []
        for wish in wishes:
            text = self._tokenizer.decode(wish.prompt)
            turn = text.count("<|im_start|>assistant") - 1
            number = int(re.search(r"Task (\d+)", text)[1])
            calls = rows[number - 1]["calls"] if wish.seed.split("/")[4] == "0" else []
            said = f"<tool_call>\n{json.dumps(calls[turn])}\n</tool_call>" if turn < len(calls) else "I stop."
            seeds.append(wish.seed)
            assert 0 < wish.limit <= 3000
            made.append(Sample(self._tokenizer(said + "<|im_end|>")["input_ids"], ended=True))
        return made

    rows = load("guess", tmp_path)[1]
    monkeypatch.setattr(Sampler, "sample", sample)
    order = {
        "do": "evaluate",
        "id": 1,
        "name": "held",
        "problems": 3,
        "samples": 2,
        "temperature": 1,
        "maxTokens": 3000,
    }
    asked: list[Json] = []

    def orders(method: str, params: Json) -> Any:
        if method == "stage":
            return [order, {**order, "id": 2}]
        asked.extend(params.get("answers") or [])
        return None

    driver, _, _ = train(model, tmp_path, monkeypatch, orders=orders)
    samples, again = (answer["value"]["samples"] for answer in asked)
    # The second evaluation plays the same episodes in the instances of the first. Training has one for each completion.
    assert [(one["problem"], one["sample"], one["completion"], one["reward"]) for one in again] == [
        (one["problem"], one["sample"], one["completion"], one["reward"]) for one in samples
    ]
    assert len(driver.instances) == len(samples) + 4
    assert [(one["problem"], one["sample"]) for one in samples] == [(i, k) for i in range(3) for k in range(2)]
    for one in samples:
        solved = one["sample"] == 0
        calls = one["row"]["calls"] if solved else []
        assert (one["reward"], one["truncated"]) == (1.0 if solved else 0.0, False)
        assert [turn["calls"] for turn in one["episode"]["turns"]] == [[call] for call in calls]
        roles = [message["role"] for message in one["completion"]]
        assert roles == ["assistant", "tool"] * len(calls) + ["assistant"]
        assert "You have 7 guesses." in one["prompt"]
        assert one["messages"] == {"prompt": one["messages"]["prompt"], "completion": one["completion"]}
        of_one = [f"3/held/0/{one['problem']}/{one['sample']}/{turn}" for turn in range(len(calls) + 1)]
        assert of_one * 2 == [seed for seed in seeds if seed.startswith(f"3/held/0/{one['problem']}/{one['sample']}/")]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in FAULTS])
def test_remote_tools_have_the_schema_of_the_file(name: str) -> None:
    """The prompt describes tools as a plain TRL script would."""
    schema = get_json_schema(getattr(Tools(), name))["function"]
    tool = {"name": name, "isAsync": name == "waits", "schema": schema, "fault": None}
    made = environment_class({"name": "Made", "tools": [tool]}, lambda method, params: {})
    assert get_json_schema(getattr(made(), name))["function"] == schema


TYPESCRIPT = Path(__file__).parents[2] / "fixtures" / "environments" / "typeSchemas.json"


@pytest.mark.parametrize(("kind", "schema"), json.loads(TYPESCRIPT.read_text()))
def test_remote_tools_have_the_schemas_of_typescript_types(kind: str, schema: Json) -> None:
    properties = {"x": {**schema, "description": "An x."}}
    described = {
        "name": "tool",
        "description": "Does it.",
        "parameters": {"type": "object", "properties": properties, "required": ["x"]},
        "return": {"type": "null"},
    }
    tool = {"name": "tool", "isAsync": False, "location": None, "fault": None, "schema": described}
    made = environment_class({"name": "Made", "tools": [tool]}, lambda method, params: {})
    assert get_json_schema(made.tool)["function"] == described


def test_a_tool_that_cannot_be_described_is_refused() -> None:
    tool = {"name": "look", "isAsync": False, "schema": None, "fault": {"kind": "docstring", "message": "no docstring"}}
    with pytest.raises(Failure, match="no docstring"):
        environment_class({"name": "Made", "tools": [tool]}, lambda method, params: {})


@pytest.mark.parametrize(
    ("name", "argument", "reason"),
    [
        ("reset", "text", "a tool named reset"),
        ("_ask", "text", "a tool named _ask"),
        ("send", "from", "an argument named from"),
        ("send", "self", "an argument named self"),
    ],
)
def test_names_that_a_server_can_have_and_a_method_cannot_are_refused(name: str, argument: str, reason: str) -> None:
    properties = {argument: {"type": "string", "description": "Text"}}
    schema = {
        "name": name,
        "description": "Sends.",
        "parameters": {"type": "object", "properties": properties, "required": [argument]},
    }
    tool = {"name": name, "isAsync": False, "location": None, "fault": None, "schema": schema}
    with pytest.raises(Failure, match=reason) as raised:
        environment_class({"name": "Made", "tools": [tool]}, lambda method, params: {})
    assert raised.value.reason == "unsupported"


def test_observed_ranges() -> None:
    assert observed([1, 0, 0, 1, 0]) == [[1, 3], [4, 5]]
    assert observed([0]) == [[0, 1]]
    assert observed([1, 1]) == []
    assert observed([]) == []
