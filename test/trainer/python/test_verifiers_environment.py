"""Plays recorded verifiers rollouts in an environment host, and compares everything that a model sees, and the rewards,
with what the library recorded. The recordings are from `vf-eval` with the library's chat agent and its tool server in a
separate process (test/fixtures/verifiers-tools).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from _reward_host.environments import Environments
from _reward_host.module_file import LoadFault
from _reward_host.plain_schema import plain_tool
from reasoning_lab_trainer.course.run import run
from reasoning_lab_trainer.course.world import World
from reasoning_lab_trainer.trl.environments import environment_class
from reasoning_lab_trainer.trl.grpo import LabGRPOTrainer
from test_environments import EnvironmentDriver, recipe_with
from tool_model import write_model

FIXTURES = Path(__file__).parents[2] / "fixtures"
PACKAGE = FIXTURES / "exchange" / "lab_guess"
RECORDED = FIXTURES / "verifiers-tools" / "lab-guess--scripted--null--2944a29d" / "traces.jsonl"


class Silent:
    def next(self) -> list[str]:
        return []


def opened(target: str, **arguments: Any) -> tuple[Environments, dict[str, Any]]:
    environments = Environments(Silent())
    request = {"file": target, "kind": "verifiers", "arguments": arguments, "seed": 1}
    return environments, environments.load(request)["environment"]


@pytest.fixture(scope="module")
def package() -> tuple[Environments, dict[str, Any]]:
    return opened(str(PACKAGE))


def recorded() -> list[dict[str, Any]]:
    return [trace for line in RECORDED.read_text().splitlines() for trace in json.loads(line)["traces"]]


@pytest.mark.parametrize("index", range(3))
def test_episodes_are_those_that_the_library_recorded(package: tuple[Environments, dict[str, Any]], index: int) -> None:
    environments, described = package
    row = environments.rows({"count": 6})["rows"][index]
    trace = next(one for one in recorded() if one["task"]["data"]["idx"] == index)
    assert row["task_key"] == trace["task"]["key"]
    messages = [node["message"] for node in trace["nodes"]]
    assert [message for message in messages if message["role"] in ("system", "user")] == row["prompt"]
    shown = [{"function": schema["schema"]} for schema in described["tools"]]
    assert {one["name"] for one in trace["tools"]} == {one["function"]["name"] for one in shown}

    place = {"instance": index, "state": True}
    assert environments.reset({**place, "row": row})["observation"] is None
    answers = [message["content"] for message in messages if message["role"] == "tool"]
    done = None
    for message in messages:
        for call in message.get("tool_calls") or []:
            made = {"name": call["name"], "arguments": json.loads(call["arguments"])}
            reply = environments.call({**place, "calls": [made]})
            done = reply["done"]
            # The library does not record answers after the last message of the model.
            if answers:
                assert reply["results"][0]["content"] == answers.pop(0)
    assert answers == []
    assert done is (trace["stop_condition"] == "lost")
    completion = [message for message in messages if message["role"] in ("assistant", "tool")]
    scored = environments.reward({**place, "messages": completion})
    rewards = {name: one["score"] * one["weight"] for name, one in trace["rewards"].items()}
    assert scored["value"] == pytest.approx(sum(rewards.values()))
    assert scored["state"]["rewards"] == pytest.approx(rewards)
    assert scored["state"]["metrics"] == pytest.approx(trace["metrics"])


def test_rows_that_are_not_of_the_taskset_fail(package: tuple[Environments, dict[str, Any]]) -> None:
    environments, _ = package
    for row, words in [
        ({"task_index": 99}, "The taskset has no task 99"),
        ({"task_index": 0, "task_key": "other"}, "Task 0 does not match the row"),
    ]:
        error = environments.reset({"instance": 9, "row": row})["error"]
        assert error["kind"] == "threw" and words in error["message"]


def test_the_trainer_describes_tools_in_the_same_way(package: tuple[Environments, dict[str, Any]]) -> None:
    _, described = package
    made = environment_class(described, lambda _what, _params: {"content": "no", "failed": True, "message": "no"})
    assert made._scores_text
    # A failed call in another library is shown unchanged, and counted.
    assert made().game_guess(number=1) == "no"


def test_any_schema_becomes_one_that_a_signature_has() -> None:
    schema = {
        "$defs": {
            "Side": {"enum": ["left", "right"], "type": "string"},
            "Point": {"properties": {"x": {}}, "type": "object"},
        },
        "properties": {
            "side": {"$ref": "#/$defs/Side", "description": "Args: which: side"},
            "point": {"allOf": [{"$ref": "#/$defs/Point"}]},
            "level": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": 3},
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "many": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
            "fixed": {"const": "a"},
            "open": {},
            "not-a-name": {"type": "string"},
            "loop": {"$ref": "#/$defs/Nowhere"},
        },
        "required": ["side", "not-a-name"],
    }
    plain = plain_tool("move", "Moves.\n\nArgs:\n    point: Where to.\n", schema, without=("fixed",))
    assert list(plain["parameters"]["properties"]) == ["side", "point", "level", "either", "many", "open", "loop"]
    assert plain["parameters"]["properties"]["side"] == {
        "type": "string",
        "enum": ["left", "right"],
        "description": "Args which: side",
    }
    assert plain["parameters"]["properties"]["point"] == {"type": "object", "description": "Where to; fields x"}
    assert plain["parameters"]["properties"]["level"] == {
        "type": "integer",
        "nullable": True,
        "description": "level; default 3",
    }
    tool = {"name": "move", "isAsync": False, "location": None, "schema": plain, "fault": None}
    environment_class({"name": "Moves", "tools": [tool]}, lambda _what, _params: {})


@pytest.mark.parametrize(
    ("target", "arguments", "words"),
    [
        ("no-such-package", {}, "The package no-such-package is not installed"),
        (str(PACKAGE), {"no_such_argument": 1}, "Extra inputs are not permitted"),
        (str(PACKAGE.parent), {}, "does not specify a package name"),
    ],
)
def test_what_cannot_be_loaded_is_named(target: str, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(LoadFault) as caught:
        opened(target, **arguments)
    assert words in caught.value.data["message"]
    assert caught.value.data["action"].endswith(".")


def test_two_versions_of_a_library_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "verifiers-0.3.1.dist-info"
    place.mkdir()
    (place / "METADATA").write_text("Metadata-Version: 2.1\nName: verifiers\nVersion: 0.3.1\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(LoadFault) as caught:
        opened(str(PACKAGE))
    assert "Several versions are installed: verifiers 0.3.1 in" in caught.value.data["message"]


def test_a_package_is_trained_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = EnvironmentDriver(recipe_with(write_model(tmp_path)), PACKAGE, "verifiers")
    rows = driver.host.rows({"count": 6})["rows"]

    def generate(self: Any, prompt_ids: Any, *_: Any, **__: Any) -> Any:
        """Solves the task in the first completion of a group, after an invalid call, and states the number."""
        written = []
        for place, ids in enumerate(prompt_ids):
            text = self.processing_class.decode(ids)
            turn = text.count("<|im_start|>assistant") - 1
            number = rows[int(re.search(r"Game (\d+)", text)[1])]["number"]
            calls = [{"number": "x"}, {"number": number}] if turn > 0 or place % 2 == 0 else []
            call = {"name": "game_guess", "arguments": calls[turn]} if turn < len(calls) else None
            said = f"It is {number}." if turn > 0 else "I stop."
            said = said if call is None else f"<tool_call>\n{json.dumps(call)}\n</tool_call>"
            written.append(self.processing_class(said + "<|im_end|>")["input_ids"])
        return written, None

    monkeypatch.setattr(LabGRPOTrainer, "_generate_single_turn", generate)
    driver.problem = lambda index: {
        "index": index,
        "prompt": rows[index % len(rows)]["prompt"][-1]["content"],
        "answer": None,
        "solution": None,
        "row": rows[index % len(rows)],
    }
    assert run(driver.link, "token", World()) == 0, driver.of("fault")
    driver.close()
    lines = [line for step in driver.steps for line in step["rollouts"]]
    assert len(lines) == 8
    for line in lines:
        solved = line["index"] == 0
        # The library's reward for the final message counts half.
        assert line["rewards"] == {"environment": 1.5 if solved else 0.0}
        answers = [message["content"] for message in line["completion"] if message["role"] == "tool"]
        assert len(answers) == (2 if solved else 0)
        if solved:
            assert answers[0].startswith("Error executing tool guess: 1 validation error")
            assert answers[1] == "Correct!"
        episode = line["extra"]["episode"]
        assert (episode["calls"], episode["failures"]) == ((2, 1) if solved else (0, 0))
    assert all(step["metrics"]["grad_norm"] > 0 for step in driver.steps)
