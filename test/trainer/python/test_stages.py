"""Stages that train on rows: end to end over the link, exact resume, and messages for invalid input."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import RECIPE, fails
from datasets import Dataset
from reasoning_lab_trainer.course.run import run
from reasoning_lab_trainer.course.world import World
from reasoning_lab_trainer.data.hashing import Epochs
from reasoning_lab_trainer.models.load import load_policy
from reasoning_lab_trainer.trl.minillm import minillm
from reasoning_lab_trainer.trl.options import fits, trainer_options, words_of
from reasoning_lab_trainer.trl.refused import find_trainer, refuse
from reasoning_lab_trainer.trl.stages import check_stages
from scripted_driver import ScriptedDriver
from tiny_model import OPTIMISER
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
    TrainerCallback,
)
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

Json = dict[str, Any]
LORA = {"r": 4, "alpha": 8, "dropout": 0, "targets": "all-linear", "quantize": "none"}


def sum_of(index: int) -> Json:
    """Returns one-digit sums with worked solutions."""
    a, b = index * 7919 % 10, index * 104729 // 10 % 10
    prompt = f"{a}+{b}="
    return {
        "index": index,
        "prompt": prompt,
        "answer": str(a + b),
        "solution": f"{prompt}{a + b}",
        "row": {"prompt": prompt, "answer": str(a + b)},
    }


def worked(prompt: str, total: int) -> str:
    return f"<think>{prompt}{total}</think><answer>{total}</answer>"


SUMS = [(f"{a}+{b}=", a + b) for a in range(10) for b in range(10)]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Writes pairs, labeled steps and teacher completions for all one-digit sums."""
    folder = tmp_path_factory.mktemp("data")
    rows: dict[str, list[Json]] = {
        "pairs": [
            {"prompt": p, "chosen": worked(p, n), "rejected": f"<answer>{n}" + "-" * (1 + n % 3)} for p, n in SUMS
        ],
        "steps": [
            {"prompt": p, "completions": [f"{p}{n}", f"{n}-1" if n % 2 else f"{n}+1"], "labels": [True, n % 2 == 0]}
            for p, n in SUMS
        ],
        "teacher": [{"prompt": p, "completion": worked(p, n + n % 2), "answer": n} for p, n in SUMS],
    }
    for name, lines in rows.items():
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return {name: str(folder / f"{name}.jsonl") for name in rows}


def stage_of(kind: str, steps: int, files: dict[str, str], **settings: Any) -> Json:
    common = {"type": kind, "steps": steps, **OPTIMISER, "batch_size": 8}
    pairs = {
        "path": files["pairs"],
        "split": "train",
        "prompt": "prompt",
        "chosen": "chosen",
        "rejected": "rejected",
        "heldOutShare": 0.2,
    }
    labels = {"path": files["steps"], "separator": ";", "heldOutShare": 0.2}
    data = {
        "path": files["teacher"],
        "split": "train",
        "prompt": "prompt",
        "completion": "completion",
        "answer": "answer",
    }
    own: dict[str, Json] = {
        "sft": {},
        "dpo": {"pairs": pairs, "beta": 0.1},
        "reward-model": {"pairs": pairs},
        "process-reward-model": {"labels": labels},
        "distill": {"data": data, "minReward": None},
    }
    return {**common, **own[kind], **settings}


def make_recipe(stages: list[Json], **pytorch: Any) -> Json:
    recipe = copy.deepcopy(RECIPE)
    recipe["stages"] = stages
    recipe["rewards"] = [{"use": "right", "weight": 1.0}]
    recipe["evaluate"]["every"] = 2
    recipe["pytorch"] |= {"precision": "float32", **pytorch}
    return recipe


class Losses(TrainerCallback):
    """Records the losses that a plain TRL trainer logs."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        if "loss" in logs:
            self.values.append(logs["loss"])


def plain_options(stage: Json) -> Json:
    """Returns the options of a plain TRL trainer that trains like a stage."""
    return {
        "max_steps": stage["steps"],
        "learning_rate": stage["learning_rate"],
        "lr_scheduler_type": "constant_with_warmup",
        "per_device_train_batch_size": stage["batch_size"],
        "train_sampling_strategy": "sequential",
        "bf16": False,
        "use_cpu": True,
        "gradient_checkpointing": False,
        "logging_steps": 1,
        "report_to": "none",
        "save_strategy": "no",
        "seed": 1,
    }


def right(row: Json) -> dict[str, float | None]:
    return {"right": float(row["completion"].endswith(f"<answer>{row['answer']}</answer>"))}


def train(
    recipe: Json,
    new_model: Json | None,
    orders: Callable[[str, Json], list[Json] | None] | None = None,
    resume: Json | None = None,
    status: int = 0,
) -> ScriptedDriver:
    driver = ScriptedDriver(recipe, rewards=right, orders=orders, resume=resume, new_model=new_model)
    driver.problem = sum_of
    assert run(driver.link, "token", World()) == status, driver.of("fault")
    driver.close()
    assert not any("error" in answer for answer in driver.answers), driver.answers
    return driver


def checkpoint_at(step: int, folder: Path) -> Callable[[str, Json], list[Json] | None]:
    def orders(method: str, params: Json) -> list[Json] | None:
        if method == "step" and params["step"] == step:
            return [{"do": "checkpoint", "id": 1, "folder": str(folder)}]
        return None

    return orders


def told(driver: ScriptedDriver) -> list[Json]:
    """Returns the metrics of the updates, excluding times."""
    return [
        {name: value for name, value in step["metrics"].items() if "time" not in name and "throughput" not in name}
        for step in driver.steps
    ]


KINDS = ["sft", "distill", "dpo", "reward-model", "process-reward-model"]

METRICS = {
    "sft": {"loss", "grad_norm", "learning_rate", "entropy", "mean_token_accuracy", "num_tokens", "epoch", "step_time"},
    "distill": {"loss", "grad_norm", "entropy", "mean_token_accuracy", "num_tokens"},
    "dpo": {"loss", "grad_norm", "rewards/margins", "rewards/accuracies", "logps/chosen", "eval/rewards/accuracies"},
    "reward-model": {"loss", "accuracy", "margin", "mean_reward", "eval/accuracy", "eval/margin", "eval/loss"},
    "process-reward-model": {"loss", "grad_norm", "eval/accuracy", "eval/loss"},
}


def test_all_stages_of_one_recipe(tmp_path: Path, files: dict[str, str], new_model: Json) -> None:
    settings = {"distill": {"minReward": 0.5}}
    stages = [stage_of(kind, 2, files, **settings.get(kind, {})) for kind in KINDS]
    checkpoint = tmp_path / "checkpoint"
    before_heads = tmp_path / "before"

    def orders(method: str, params: Json) -> list[Json] | None:
        if method == "step" and params["step"] in (6, 10):
            folder = before_heads if params["step"] == 6 else checkpoint
            return [{"do": "checkpoint", "id": params["step"], "folder": str(folder)}]
        return None

    driver = train(make_recipe(stages), new_model, orders)
    assert [stage["type"] for stage in driver.of("stage")] == KINDS
    assert [step["step"] for step in driver.steps] == list(range(1, 11))
    assert all(step["batchEnds"] for step in driver.steps)
    for number, step in enumerate(driver.steps):
        kind = KINDS[number // 2]
        expected = {name for name in METRICS[kind] if not name.startswith("eval/") or number % 2 == 1}
        assert expected <= set(step["metrics"]), (kind, expected - set(step["metrics"]))
        assert all(value is None or math.isfinite(value) for value in step["metrics"].values())
    tokens = [step["tokens"] for step in driver.steps]
    assert tokens == sorted(tokens)
    assert tokens[0] > 0
    # Half of the teacher's sums are incorrect.
    assert any("50 of 100 completions" in alert["message"] for alert in driver.of("alert"))
    assert sum(len(scored["rows"]) for scored in driver.of("rewards/score")) == 100

    # Open it the way other programs do.
    policy = load_policy({**RECIPE, "model": {"path": str(checkpoint)}}, None, torch.device("cpu"))
    before = load_policy({**RECIPE, "model": {"path": str(before_heads)}}, None, torch.device("cpu"))
    pairs = zip(policy.model.parameters(), before.model.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs), "training heads does not change the policy"
    reward = AutoModelForSequenceClassification.from_pretrained(checkpoint / "reward-model")
    assert reward.config.num_labels == 1
    process = AutoModelForTokenClassification.from_pretrained(checkpoint / "process-reward-model")
    assert process.config.num_labels == 2
    assert (checkpoint / "reward-model" / "tokenizer.json").is_file()


# The other kinds are resumed in test_adapters_are_trained_alone.
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.acceptance] * (kind not in ("distill", "dpo"))) for kind in KINDS]
)
def test_a_resumed_stage_goes_on_exactly(tmp_path: Path, files: dict[str, str], new_model: Json, kind: str) -> None:
    settings = {"minReward": 0.5} if kind == "distill" else {}
    # More updates than an epoch has, with a schedule and micro-batches.
    stages = [stage_of("sft", 1, files), stage_of(kind, 6, files, warmup_steps=4, batch_size=24, **settings)]
    recipe = make_recipe(stages, microBatch=12)
    checkpoint = tmp_path / "checkpoint"
    whole = train(recipe, new_model, checkpoint_at(4, checkpoint))
    (answer,) = whole.answers
    resume = {
        "checkpoint": str(checkpoint),
        "step": 4,
        "stage": {"index": 1, "step": 3},
        "state": answer["value"]["state"],
        "sameRun": True,
    }
    rest = train(recipe, new_model, resume=resume)
    assert [step["step"] for step in rest.steps] == [5, 6, 7]
    assert told(rest) == told(whole)[4:]
    assert [step["tokens"] for step in rest.steps] == [step["tokens"] for step in whole.steps[4:]]
    if kind == "distill":
        assert not rest.of("rewards/score"), "accepted completions are not scored again"


PAIR_LOSSES = {
    **dict.fromkeys(["sigmoid", "hinge", "ipo", "nca_pair", "bco_pair", "sppo_hard", "aot", "aot_unpaired"], 0.0),
    **dict.fromkeys(["apo_zero", "apo_down", "sigmoid_norm", "discopop"], 0.0),
    "exo_pair": 0.1,
    "robust": 0.1,
}
"""Losses of DPOTrainer, each with the label smoothing to use."""


@pytest.mark.parametrize(
    "loss", [pytest.param(loss, marks=[pytest.mark.acceptance] * (loss != "exo_pair")) for loss in PAIR_LOSSES]
)
def test_pair_losses_are_those_of_plain_trl(
    files: dict[str, str], llama_folder: Path, tmp_path: Path, loss: str
) -> None:
    smoothing = {"label_smoothing": PAIR_LOSSES[loss]} if PAIR_LOSSES[loss] else {}
    stage = stage_of("dpo", 4, files, loss_type=loss, learning_rate=1e-3, trainer=smoothing)
    stage["pairs"]["heldOutShare"] = 0
    recipe = make_recipe([stage], maxLength=60)
    recipe["model"] = {"path": str(llama_folder)}
    driver = train(recipe, None)
    rows = [json.loads(line) for line in Path(files["pairs"]).read_text().splitlines()]
    epochs = Epochs(len(rows), recipe["seed"], "dpo", 0)
    config = DPOConfig(
        output_dir=str(tmp_path),
        loss_type=[loss],
        beta=stage["beta"],
        max_length=60,
        **plain_options(stage),
        **smoothing,
    )
    losses = Losses()
    trainer = DPOTrainer(
        AutoModelForCausalLM.from_pretrained(llama_folder),
        AutoModelForCausalLM.from_pretrained(llama_folder),
        config,
        train_dataset=Dataset.from_list([rows[epochs.at(place)] for place in range(4 * 8)]),
        processing_class=AutoTokenizer.from_pretrained(llama_folder),
        callbacks=[losses],
    )
    trainer.train()
    assert [step["metrics"]["loss"] for step in driver.steps] == losses.values
    assert len(set(losses.values)) == 4


@pytest.mark.parametrize("loss", ["ipo", "simpo", "orpo", "kto"])
def test_preference_losses_of_other_trainers(files: dict[str, str], new_model: Json, loss: str) -> None:
    metrics = told(train(make_recipe([stage_of("dpo", 4, files, loss_type=loss, learning_rate=1e-2)]), new_model))
    assert len(metrics) == 4
    assert all(math.isfinite(line["loss"]) for line in metrics), metrics
    assert metrics[-1]["rewards/margins"] > metrics[0]["rewards/margins"], metrics
    # Properties unique to these losses: SimPO omits the likelihood, ORPO adds it, and KTO estimates a KL.
    assert ("kl" in metrics[0], metrics[0].get("nll_loss")) == {
        "ipo": (False, None),
        "simpo": (False, 0.0),
        "orpo": (False, pytest.approx(3.0, abs=0.3)),
        "kto": (True, None),
    }[loss]


LAB = Path(__file__).parents[2] / "fixtures" / "trainer" / "lab"
"""A checkpoint of the embedded engine."""


def distillation(steps: int, path: str, **settings: Any) -> Json:
    stage = {"type": "distill", "steps": steps, **OPTIMISER, "learning_rate": 1e-2, "batch_size": 8, "data": None}
    own = {"minReward": None, "teacher": {"path": path}, "temperature": 1, "alpha": 0, "on_policy": True}
    return make_recipe([{**stage, **own, "max_completion_length": 10, **settings}])


def lab_student() -> Json:
    shape = {"vocabulary": 20, "context": 18, "width": 32, "heads": 2, "layers": 1, "feedForward": 64}
    return {"tokenizer": (LAB / "tokenizer.json").read_text("utf-8"), "shape": shape}


def test_a_student_imitates_its_teacher_on_its_own_samples(tmp_path: Path) -> None:
    def run_it(orders: Any = None, resume: Json | None = None, **settings: Any) -> list[Json]:
        recipe = distillation(12, str(LAB), **settings)
        driver = ScriptedDriver(recipe, rewards=right, orders=orders, resume=resume, new_model=lab_student())
        driver.problem = lambda index: {**sum_of(index), "prompt": f"{index % 10}+{index % 7}="}
        assert run(driver.link, "token", World()) == 0, driver.of("fault")
        driver.close()
        states.extend(answer["value"]["state"] for answer in driver.answers)
        return told(driver)

    states: list[Json] = []
    folder = tmp_path / "checkpoint"
    reverse = run_it(checkpoint_at(5, folder))
    assert reverse[-1]["loss"] < 0.7 * reverse[0]["loss"], reverse
    assert reverse[0]["entropy"] == pytest.approx(math.log(20), abs=0.05)
    # Resumed with the same samples.
    resume = {"checkpoint": str(folder), "step": 5, "stage": {"index": 0, "step": 5}, "sameRun": True}
    again = run_it(None, {**resume, "state": states[0]})
    assert [line["loss"] for line in again] == [line["loss"] for line in reverse[5:]]
    # The same samples with another divergence.
    assert run_it(beta=0.0)[0]["loss"] != reverse[0]["loss"]


def distilled(tmp_path: Path, steps: int, at: int | None, **settings: Any) -> tuple[list[Json], list[Json]]:
    """Returns the metrics of a run of a new model, and of the same run resumed from its checkpoint at step `at`."""
    student = lab_student()
    student["shape"]["context"] = 32
    states: list[Json] = []

    def run_it(orders: Any = None, resume: Json | None = None) -> list[Json]:
        recipe = distillation(steps, str(LAB), **settings)
        driver = ScriptedDriver(recipe, rewards=with_a_digit, orders=orders, resume=resume, new_model=student)
        driver.problem = sum_of
        assert run(driver.link, "token", World()) == 0, driver.of("fault")
        driver.close()
        states.extend(answer["value"]["state"] for answer in driver.answers)
        return told(driver)

    folder = tmp_path / "checkpoint"
    if at is None:
        return run_it(), []
    whole = run_it(checkpoint_at(at, folder))
    resume = {"checkpoint": str(folder), "step": at, "stage": {"index": 0, "step": at}, "sameRun": True}
    return whole, run_it(None, {**resume, "state": states[0]})


def with_a_digit(row: Json) -> dict[str, float | None]:
    return {"right": float("7" in row["completion"])}


def test_minillm_lowers_the_divergence_from_its_teacher(tmp_path: Path) -> None:
    whole, _ = distilled(tmp_path, 6, None, method="minillm", trainer={"gamma": 0.9})
    assert whole[-1]["loss"] < 0.8 * whole[0]["loss"], whole
    assert not any(name.startswith("reward") for name in whole[0]), whole[0]


def test_padding_has_no_part_in_minillm() -> None:
    """Reverse KL and normalized return of Gu et al. (2023) on a row with two tokens and one padding token."""
    trainer = object.__new__(minillm(find_trainer("minillm")[0]))
    trainer.gamma, trainer.length_normalization, trainer.current_gradient_accumulation_steps = 0.5, True, 2
    trainer._tokens = torch.tensor([[True, True, False]])
    torch.manual_seed(1)
    student, teacher = (torch.randn(1, 3, 5).log_softmax(-1) for _ in range(2))
    both = (student.exp() * (student - teacher)).sum(-1)[0]
    loss = trainer._single_step_decomposition_loss(student_log_probs=student, teacher_log_probs=teacher, mask=None)
    assert loss.item() == pytest.approx((both[0] + both[1]).item() / 2 / 2, abs=1e-6)
    own, other = student[..., 0], teacher[..., 0]
    named = {"student_log_probs_on_labels": own, "teacher_log_probs_on_labels": other, "mask": None}
    ratio = (other - own)[0]
    # TRL gives padding the length 1e-4.
    first = (ratio[0] + 0.5 * ratio[1]) / 1.5
    expected = [pytest.approx(first.item(), abs=1e-3), pytest.approx(ratio[1].item(), abs=1e-3), 0]
    assert trainer._compute_advantage(**named)[0].tolist() == expected


SELF: Json = {"teacher": None, "on_policy": False, "max_completion_length": 8}
HINT = {"teacher_prompt_template": "{privileged_context};{prompt}"}


def test_self_distillation_resumes_with_the_same_teacher(tmp_path: Path) -> None:
    settings = {**SELF, "method": "sdft", "privileged_context": "answer", "teacher_model_kind": "ema", "trainer": HINT}
    whole, rest = distilled(tmp_path, 4, 2, **settings)
    assert rest == whole[2:]
    assert all(line["loss"] > 0 for line in whole), whole
    assert [line["num_tokens"] for line in whole] == sorted({line["num_tokens"] for line in whole})
    assert (tmp_path / "checkpoint" / "trainer" / "reference.safetensors").is_file()


def test_correct_completions_teach_the_others(tmp_path: Path) -> None:
    templates = {"reprompt_template": "{solution}{prompt}", "solution_template": "{successful_previous_attempt};"}
    settings = {**SELF, "method": "sdpo", "teacher_model_kind": "base", "num_generations": 4, "trainer": templates}
    whole, _ = distilled(tmp_path, 3, None, **settings)
    assert {"reward", "rewards/right/mean"} <= set(whole[0]), whole[0]
    assert any(line["self_distillation/reprompt_sample_fraction"] > 0 for line in whole), whole
    assert any(line["grad_norm"] > 0 for line in whole), whole


def test_self_distillation_without_anything_to_read(new_model: Json) -> None:
    recipe = distillation(2, str(LAB), **SELF, method="sdft", privileged_context="hint")
    driver = ScriptedDriver(recipe, rewards=right, new_model=new_model)
    driver.problem = sum_of
    assert run(driver.link, "token", World()) != 0
    assert 'has no "hint" for the teacher to read' in str(driver.of("fault"))
    driver.close()


def test_a_teacher_with_another_vocabulary_is_refused(new_model: Json) -> None:
    driver = ScriptedDriver(distillation(2, str(LAB)), rewards=right, new_model=new_model)
    driver.problem = sum_of
    assert run(driver.link, "token", World()) != 0
    assert "has a different vocabulary" in str(driver.of("fault"))
    driver.close()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "distill"])
def test_stages_learn(files: dict[str, str], new_model: Json, kind: str) -> None:
    recipe = make_recipe([stage_of(kind, 30, files, learning_rate=5e-3, batch_size=16)])
    recipe["evaluate"]["every"] = 15
    metrics = told(train(recipe, new_model))
    first, last = metrics[0], metrics[-1]
    if kind == "sft":
        assert last["loss"] < 0.6 * first["loss"]
        assert last["mean_token_accuracy"] > first["mean_token_accuracy"] + 0.2
    elif kind == "dpo":
        assert first["rewards/margins"] == pytest.approx(0, abs=1e-6)
        assert last["eval/rewards/margins"] > 0.5
    else:
        measured = [line["eval/accuracy"] for line in metrics if "eval/accuracy" in line]
        assert len(measured) == 2
        assert measured[-1] > 0.9


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "distill"])
def test_adapters_are_trained_alone(tmp_path: Path, files: dict[str, str], llama_folder: Path, kind: str) -> None:
    recipe = make_recipe([stage_of(kind, 3, files)], lora=LORA, maxLength=100)
    recipe["model"] = {"path": str(llama_folder)}
    checkpoint = tmp_path / "checkpoint"
    driver = train(recipe, None, checkpoint_at(2, checkpoint))
    assert len(driver.steps) == 3
    (ready,) = driver.of("ready")
    assert 0 < ready["trained"] < 0.5 * ready["parameters"]
    assert (checkpoint / "adapter_config.json").is_file()
    (answer,) = driver.answers
    resume = {
        "checkpoint": str(checkpoint),
        "step": 2,
        "stage": {"index": 0, "step": 2},
        "state": answer["value"]["state"],
        "sameRun": True,
    }
    assert told(train(recipe, None, resume=resume)) == told(driver)[2:]


@pytest.mark.parametrize("chat", [False, True])
def test_sft_computes_what_plain_trl_computes(tmp_path: Path, llama_folder: Path, chat: bool) -> None:
    recipe = make_recipe([stage_of("sft", 4, {"pairs": "", "steps": "", "teacher": ""})], maxLength=60)
    recipe["model"] = {"path": str(llama_folder)}
    recipe["template"] |= {"chat": chat, "system": "Think."}
    driver = train(recipe, None)
    rows: list[Json] = []
    for row in map(sum_of, range(32)):
        completion: Any = worked(row["prompt"], int(row["answer"]))
        prompt: Any = row["prompt"]
        if chat:
            prompt = [{"role": "system", "content": "Think."}, {"role": "user", "content": prompt}]
            completion = [{"role": "assistant", "content": completion}]
        rows.append({"prompt": prompt, "completion": completion})
    losses = Losses()
    config = SFTConfig(output_dir=str(tmp_path), max_length=60, **plain_options(recipe["stages"][0]))
    trainer = SFTTrainer(
        AutoModelForCausalLM.from_pretrained(llama_folder),
        config,
        train_dataset=Dataset.from_list(rows),
        processing_class=AutoTokenizer.from_pretrained(llama_folder),
        callbacks=[losses],
    )
    trainer.train()
    assert [step["metrics"]["loss"] for step in driver.steps] == losses.values


def test_rows_are_packed(llama_folder: Path) -> None:
    recipe = make_recipe([stage_of("sft", 3, {"pairs": "", "steps": "", "teacher": ""}, batch_size=2)], packing=True)
    recipe["model"] = {"path": str(llama_folder)}
    recipe["pytorch"]["maxLength"] = 120
    packed = train(recipe, None)
    recipe["pytorch"]["packing"] = False
    plain = train(recipe, None)
    assert len(packed.steps) == 3
    # Each of the two sequences in an update contains several problems.
    assert packed.steps[0]["tokens"] > 2 * plain.steps[0]["tokens"]


def test_options_that_change_the_preparation_are_trls(llama_folder: Path) -> None:
    recipe = make_recipe([stage_of("sft", 1, {"pairs": "", "steps": "", "teacher": ""})])
    recipe["model"] = {"path": str(llama_folder)}
    loss = train(recipe, None).steps[0]["metrics"]["loss"]
    recipe["stages"][0]["trainer"] = {"completion_only_loss": True}
    assert train(recipe, None).steps[0]["metrics"]["loss"] == loss
    recipe["stages"][0]["trainer"] = {"completion_only_loss": False}
    assert train(recipe, None).steps[0]["metrics"]["loss"] != loss


def test_pairs_go_through_the_chat_template(files: dict[str, str], llama_folder: Path) -> None:
    recipe = make_recipe([stage_of("dpo", 1, files)], maxLength=128)
    recipe["model"] = {"path": str(llama_folder)}
    plain = train(recipe, None).steps[0]["tokens"]
    recipe["template"] |= {"chat": True, "system": "Think."}
    assert train(recipe, None).steps[0]["tokens"] > plain


class TestBadInput:
    def fault(self, recipe: Json, new_model: Json | None, *parts: str, reason: str = "invalid") -> None:
        driver = train(recipe, new_model, status=2)
        (fault,) = driver.of("fault")
        text = f"{fault['message']} {fault.get('action')}"
        assert fault["reason"] == reason, text
        for part in parts:
            assert part in text, text
        assert "stack" not in fault

    def write(self, folder: Path, rows: list[Json]) -> dict[str, str]:
        path = folder / "rows.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)))
        return {"pairs": str(path), "steps": str(path), "teacher": str(path)}

    def test_missing_column_of_pairs(self, tmp_path: Path, new_model: Json) -> None:
        files = self.write(tmp_path, [{"prompt": "1+1=", "better": "2", "rejected": "3"}] * 4)
        for kind in ("dpo", "reward-model"):
            recipe = make_recipe([stage_of(kind, 2, files)])
            self.fault(recipe, new_model, "rows.jsonl, line 1", '"chosen"', "prompt, better, rejected", '"pairs"')
        files = self.write(tmp_path, [{"chosen": "2", "rejected": "3"}] * 4)
        self.fault(make_recipe([stage_of("dpo", 2, files)]), new_model, 'no column "prompt"')

    def test_one_pair(self, tmp_path: Path, new_model: Json) -> None:
        files = self.write(tmp_path, [{"prompt": "1+1=", "chosen": "2", "rejected": "3"}])
        driver = train(make_recipe([stage_of("reward-model", 2, files)]), new_model)
        assert len(driver.steps) == 2
        assert any("too few prompts to hold any out" in alert["message"] for alert in driver.of("alert"))

    def test_pairs_of_equals(self, tmp_path: Path, new_model: Json) -> None:
        files = self.write(tmp_path, [{"prompt": "1+1=", "chosen": "2", "rejected": "2"}] * 3)
        recipe = make_recipe([stage_of("dpo", 2, files)])
        self.fault(recipe, new_model, "every pair consists of two identical completions")

    def test_labels(self, tmp_path: Path, new_model: Json) -> None:
        recipe = make_recipe([stage_of("process-reward-model", 2, {"pairs": "", "teacher": "", "steps": ""})])
        good = {"prompt": "1+1=", "completions": ["1", "2"], "labels": [True, 0.4]}
        for broken, words in (
            ({"labels": [True]}, "has 1 labels for 2 steps"),
            ({"labels": [True, 2]}, '"labels" that are not true, false or numbers from 0 to 1'),
            ({"completions": "1"}, '"completions" value that is not a list of strings'),
            ({"prompt": None}, '"prompt" that is not a string'),
        ):
            path = self.write(tmp_path, [good, {**good, **broken}])["steps"]
            recipe["stages"][0]["labels"]["path"] = path
            self.fault(recipe, new_model, "rows.jsonl, line 2", words)
        path = self.write(tmp_path, [good] * 3)["steps"]
        driver = train(recipe, new_model)
        assert any("3 labels are between 0 and 1" in alert["message"] for alert in driver.of("alert"))

    def test_no_completion_is_accepted(self, files: dict[str, str], new_model: Json) -> None:
        recipe = make_recipe([stage_of("distill", 2, files, minReward=2)])
        self.fault(recipe, new_model, "no completion has a reward of at least 2", "the highest is 1")

    def test_teacher_without_answers(self, tmp_path: Path, new_model: Json) -> None:
        files = self.write(tmp_path, [{"prompt": "1+1=", "completion": "2"}] * 3)
        assert len(train(make_recipe([stage_of("distill", 2, files)]), new_model).steps) == 2
        self.fault(make_recipe([stage_of("distill", 2, files, minReward=1)]), new_model, 'no column "answer"')

    def test_symbols_that_the_vocabulary_lacks(self, tmp_path: Path, new_model: Json) -> None:
        files = self.write(tmp_path, [{"prompt": "1+1=", "completion": "tw\u00f6"}] * 3)
        recipe = make_recipe([stage_of("distill", 2, files)])
        self.fault(recipe, new_model, "contain the character 't'", "U+0074")

    def test_prompts_longer_than_the_context(self, tmp_path: Path, new_model: Json) -> None:
        long = {"prompt": "1+" * 40 + "1=", "completion": "2"}
        files = self.write(tmp_path, [long] * 3)
        self.fault(make_recipe([stage_of("distill", 2, files)]), new_model, "every prompt has 48 tokens or more")
        files = self.write(
            tmp_path, [long, {"prompt": "1+1=", "completion": "2"}, {"prompt": "1+1=", "completion": "2" * 60}]
        )
        driver = train(make_recipe([stage_of("distill", 2, files)]), new_model)
        messages = [alert["message"] for alert in driver.of("alert")]
        assert any("skipped 1 of 3 rows" in message for message in messages)
        assert any("1 of 2 rows are longer than 48 tokens and will be truncated" in message for message in messages)

    def test_problems_without_solutions(self, new_model: Json, files: dict[str, str]) -> None:
        recipe = make_recipe([stage_of("sft", 2, files)])
        driver = ScriptedDriver(recipe, rewards=right, new_model=new_model)
        driver.problem = lambda index: {**sum_of(index), "solution": None}
        assert run(driver.link, "token", World()) == 2
        driver.close()
        assert "has no worked solution" in driver.of("fault")[0]["message"]

    def test_batches_that_processes_cannot_share(self, new_model: Json, files: dict[str, str]) -> None:
        from types import SimpleNamespace

        from reasoning_lab_trainer.course.stage import Stage
        from reasoning_lab_trainer.trl.rows_stage import batch_options

        stage = Stage(0, "sft", {"batch_size": 9}, 0, 0, 0)
        context: Any = SimpleNamespace(world=SimpleNamespace(size=2), recipe={})
        with fails("invalid", "9 rows per batch cannot be divided evenly among 2 processes"):
            batch_options(context, stage)


class TestOptions:
    WHERE = 'Stage 1 ("sft")'

    def test_known_names_pass(self) -> None:
        given = {"neftune_noise_alpha": 5, "assistant_only_loss": True, "lr_scheduler_kwargs": {"num_cycles": 1}}
        assert trainer_options(SFTConfig, given, {}, self.WHERE) == given

    def test_unknown_name(self) -> None:
        with fails("invalid", self.WHERE, '"neftune_noise_alhpa"', "SFTConfig", 'Did you mean "neftune_noise_alpha"?'):
            trainer_options(SFTConfig, {"neftune_noise_alhpa": 5}, {}, self.WHERE)
        with fails("invalid", '"zzzzzz"', "documentation"):
            trainer_options(SFTConfig, {"zzzzzz": 5}, {}, self.WHERE)

    def test_wrong_types(self) -> None:
        for name, value, words in (
            ("assistant_only_loss", "yes", "must be true or false, not 'yes'"),
            ("neftune_noise_alpha", True, "must be a number or null, not true"),
            ("dataloader_num_workers", 1.5, "must be an integer, not 1.5"),
            ("dataset_text_field", 3, "must be a string, not 3"),
        ):
            with fails("invalid", f'"{name}"', words):
                trainer_options(SFTConfig, {name: value}, {}, self.WHERE)

    def test_names_with_another_place(self) -> None:
        for name, words in (
            ("max_steps", '"steps" in the stage'),
            ("bf16", '"precision"'),
            ("output_dir", "run directories have a fixed location and format"),
        ):
            with fails("invalid", f'"{name}"', words):
                trainer_options(SFTConfig, {name: 1}, {}, self.WHERE)
        with fails("invalid", "is a stage-level setting"):
            trainer_options(SFTConfig, {"learning_rate": 1}, {"learning_rate": 2}, self.WHERE)

    def test_what_trl_itself_refuses(self, files: dict[str, str], new_model: Json) -> None:
        recipe = make_recipe(
            [stage_of("sft", 2, files, trainer={"neftune_noise_alpha": 0.1, "optim_target_modules": 5})]
        )
        driver = ScriptedDriver(recipe, rewards=right, new_model=new_model)
        assert run(driver.link, "token", World()) == 2
        driver.close()
        assert '"optim_target_modules" of "trainer" must be' in driver.of("fault")[0]["message"]
        # Rejected by the trainer, not by its configuration.
        recipe = make_recipe([stage_of("dpo", 2, files, loss_type="exo_pair")])
        driver = ScriptedDriver(recipe, rewards=right, new_model=new_model)
        assert run(driver.link, "token", World()) == 2
        driver.close()
        assert "TRL rejects these options: Label smoothing must be greater" in driver.of("fault")[0]["message"]

    def test_hints(self) -> None:
        assert fits([1, 2], list[int])
        assert not fits([1, "2"], list[int])
        assert fits(None, int | None)
        assert not fits(True, int)
        assert fits(3, float)
        assert words_of(list[str] | None) == "a list (each item a string) or null"


class TestRefusals:
    def refused(self, stage: Json, *parts: str, reason: str = "unsupported", **more: Any) -> None:
        with fails(reason, *parts):
            refuse({**make_recipe([stage]), **more}, 0)

    def test_stages_of_other_engines(self) -> None:
        self.refused({"type": "value-model"}, "does not train value models", '"engine": "embedded"')
        self.refused({"type": "ppo"}, "PPO", "grpo or rloo")
        self.refused({"type": "dance"}, 'does not support the "dance" stage', "distill, dpo, grpo")
        unlabeled = {"type": "process-reward-model", "labels": None}
        self.refused(unlabeled, "only train process rewards on labeled steps", '"labels"')
        self.refused({"type": "grpo", "dynamic_sampling": True}, "dynamic_sampling", '"embedded"')

    def test_new_models(self) -> None:
        recipe = make_recipe([{"type": "sft"}], vllm={"mode": "colocate"})
        with fails("unsupported", "vLLM"):
            refuse(recipe, 0)
        with fails("invalid", "Adapters"):
            refuse(make_recipe([{"type": "sft"}], lora=LORA), 0)

    def test_trainers_are_found_where_they_lie(self, monkeypatch: pytest.MonkeyPatch) -> None:
        trainer, config = find_trainer("process-reward-model")
        assert (trainer.__name__, config.__name__) == ("PRMTrainer", "PRMConfig")
        import trl.experimental.prm as prm

        monkeypatch.delattr(prm, "PRMTrainer")
        said = 'no trainer for the "process-reward-model" stage'
        with fails("unsupported", said, "trl==1.13", '"engine": "embedded"'):
            find_trainer("process-reward-model")

    def test_all_stages_are_checked_before_any_work(self, files: dict[str, str]) -> None:
        stages = [stage_of("sft", 1, files), stage_of("dpo", 1, files, trainer={"loss_typ": ["ipo"]})]
        with fails("invalid", 'Stage 2 ("dpo")', 'Did you mean "loss_type"?'):
            check_stages(make_recipe(stages))
