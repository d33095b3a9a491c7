"""Plays the same actions in a plain TRL script, in the PyTorch engine's environments, and in an environment host, as
the editor and the command line do, and compares everything that a model sees.
"""

from __future__ import annotations

import json
import re
import types
from pathlib import Path
from typing import Any

import pytest
from _reward_host.environments import Environments
from datasets import Dataset
from reasoning_lab_trainer.trl.environments import environment_class
from tool_model import make_model, make_tokenizer
from trl import GRPOConfig, GRPOTrainer

ROOT = Path(__file__).parents[3]
TEMPLATES = ROOT / "media" / "templates" / "environment"
NAMES = ["calculator", "guess", "word", "grid", "sql"]

Call = dict[str, Any]


def load(name: str, folder: Path) -> tuple[Path, list[dict[str, Any]]]:
    """Returns the template's environment as a file, and its rows."""
    path = folder / f"{name}.env.py"
    path.write_text((TEMPLATES / path.name).read_text().replace("__CLASS__", "Made"))
    return path, [json.loads(line) for line in (TEMPLATES / f"{name}.rows.jsonl").read_text().splitlines()]


def script(row: dict[str, Any]) -> list[list[Call]]:
    """Returns a solution, with calls before and after it that fail in every way that a model can cause."""
    solution: list[Call] = row["calls"]
    first = solution[0]
    return [
        [{"name": "no_such_tool", "arguments": {}}],
        [{"name": first["name"], "arguments": {}}],
        [{"name": first["name"], "arguments": {"no_such_argument": 1}}, {"name": "reset", "arguments": {}}],
        [{"name": first["name"], "arguments": {key: {"wrong": ["type"]} for key in first["arguments"]}}],
        *[[call] for call in solution],
        [solution[-1]],
    ]


class Scripted(GRPOTrainer):
    """Writes the turns in `scripts` instead of sampling, and records the tools' results."""

    scripts: list[list[list[Call]]]

    def _generate(self, prompts: Any) -> Any:
        self.asked = prompts
        return super()._generate(prompts)

    def _generate_single_turn(self, prompt_ids: Any, *_: Any, **__: Any) -> Any:
        written = []
        for ids in prompt_ids:
            text = self.processing_class.decode(ids)
            turns = self.scripts[int(re.search(r"Game (\d+)", text)[1])]
            turn = text.count("<|im_start|>assistant") - 1
            calls = turns[turn] if turn < len(turns) else []
            said = "".join(f"<tool_call>\n{json.dumps(call)}\n</tool_call>\n" for call in calls) or "I am done."
            written.append(self.processing_class(said.strip() + "<|im_end|>")["input_ids"])
        return written, None

    def _tool_call_loop(self, *args: Any) -> Any:
        result = super()._tool_call_loop(*args)
        self.masks, self.played, self.written = result[0], result[1], result[2]
        return result

    def _calculate_rewards(self, *args: Any) -> Any:
        self.earned = super()._calculate_rewards(*args)
        return self.earned


class NoCapture:
    def next(self) -> list[str]:
        return []


def asking(file: Path) -> tuple[dict[str, Any], Any]:
    """Returns the description of an environment in a host, and a function that answers the PyTorch engine's
    requests as its driver does.
    """
    host = Environments(NoCapture())
    described = host.load({"file": str(file), "seed": 1})["environment"]

    def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "environment/call":
            call = {"name": params["name"], "arguments": params["arguments"]}
            return host.call({"instance": params["instance"], "calls": [call]})["results"][0]
        return {"environment/reset": host.reset, "environment/reward": host.reward}[method](params)

    return described, ask


def rewards_of_engine(environments: list[Any], completions: Any, **_: Any) -> list[float | None]:
    return [environment._reward() for environment in environments]


@pytest.fixture(scope="module", params=["script", "engine"])
def played(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Scripted, list[dict[str, Any]], dict[str, Path]]:
    """Plays one row of each template twice in TRL: with the classes in the files, like a plain script, and with the
    PyTorch engine's classes.
    """
    plain = request.param == "script"
    folder = tmp_path_factory.mktemp("environments")
    files, factories, rows = {}, {}, []
    for number, name in enumerate(NAMES):
        files[name], found = load(name, folder)
        module = types.ModuleType(name)
        exec(compile(files[name].read_text(), str(files[name]), "exec"), module.__dict__)
        # TRL runs a reward function for each class.
        factories[name] = module.Made if plain else environment_class(*asking(files[name]))
        asked = found[number]["prompt"][0]["content"]
        rows.append(
            {**found[number], "prompt": [{"role": "user", "content": f"Game {number}. {asked}"}], "environment": name}
        )
    # Datasets have the same columns in every row.
    columns = {key for row in rows for key in row}
    rows = [{key: row.get(key) for key in columns} for row in rows]
    trainer = Scripted(
        model=make_model(16384),
        args=GRPOConfig(
            output_dir=str(folder / "out"),
            per_device_train_batch_size=8,
            num_generations=2,
            max_completion_length=8192,
            use_cpu=True,
            bf16=False,
            report_to=[],
            beta=0.0,
        ),
        train_dataset=Dataset.from_list([{"prompt": row["prompt"]} for row in rows]),
        reward_funcs=None if plain else rewards_of_engine,
        processing_class=make_tokenizer(),
        environment_factory=factories,
    )
    trainer.scripts = [script(row) for row in rows]
    twice = [row for row in rows for _ in range(2)]
    trainer._generate_and_score_completions(twice if plain else [{**row, "row": row} for row in twice])
    return trainer, twice, files


@pytest.mark.parametrize("place", range(8))
def test_host_and_trainers_give_the_same_episode(played: Any, place: int) -> None:
    trainer, rows, files = played
    row = {key: value for key, value in rows[place].items() if key != "environment"}
    host = Environments(NoCapture())
    host.load({"file": str(files[rows[place]["environment"]]), "seed": 1})
    # In TRL, the second completion of a group was played in a separate instance.
    begun = host.reset({"instance": place, "row": row})
    assert trainer.asked[place][-1]["content"] == row["prompt"][-1]["content"] + begun["observation"]
    messages = [message for message in trainer.played[place] if message["role"] == "tool"]
    seen = []
    for calls in trainer.scripts[place // 2]:
        reply = host.call({"instance": place, "calls": calls})
        assert "error" not in reply
        seen += [{"role": "tool", "name": result["name"], "content": result["content"]} for result in reply["results"]]
    assert seen == messages
    assert len(seen) >= 8
    earned = [value for value in trainer.earned[place].tolist() if value == value]
    assert earned == pytest.approx([host.reward({"instance": place})["value"]])


def test_observations_are_masked(played: Any) -> None:
    """TRL trains only on the policy's text, not on the tools' results."""
    trainer, _, _ = played
    for place, (mask, ids) in enumerate(zip(trainer.masks, trainer.written, strict=True)):
        trained = trainer.processing_class.decode([token for token, kept in zip(ids, mask, strict=True) if kept])
        others = trainer.processing_class.decode([token for token, kept in zip(ids, mask, strict=True) if not kept])
        assert "<tool_response>" not in trained
        assert "<tool_call>" not in others
        assert trained.count("<tool_call>") == sum(len(calls) for calls in trainer.scripts[place // 2])
        assert others.count("<tool_response>") == sum(len(calls) for calls in trainer.scripts[place // 2])
