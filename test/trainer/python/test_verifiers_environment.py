"""Plays recorded verifiers rollouts in an environment host, and compares everything that a model sees, and the rewards,
with what the library recorded. The recordings are from `vf-eval` with the library's chat agent and its tool server in a
process of its own (test/fixtures/verifiers-tools).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from _reward_host.environments import Environments
from _reward_host.module_file import LoadFault
from _reward_host.plain_schema import plain_tool
from reasoning_lab_trainer.trl.environments import environment_class

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
        ({"task_index": 0, "task_key": "other"}, "Task 0 is not the one in the row"),
    ]:
        error = environments.reset({"instance": 9, "row": row})["error"]
        assert error["kind"] == "threw" and words in error["message"]


def test_the_trainer_describes_tools_in_the_same_way(package: tuple[Environments, dict[str, Any]]) -> None:
    _, described = package
    made = environment_class(described, lambda _what, _params: {"content": "no", "failed": True, "message": "no"})
    assert made._scores_text
    # A failed call of another library is shown as it is, and counted.
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
        (str(PACKAGE.parent), {}, "does not name a package"),
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
