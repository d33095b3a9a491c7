"""Pictures: limits on untrusted files, and training on them exactly like TRL."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import shutil
import struct
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from conftest import fails
from datasets import Dataset
from PIL import Image
from plain_trl import Log, digits, length
from reasoning_lab_trainer.course.run import run
from reasoning_lab_trainer.course.world import World
from reasoning_lab_trainer.data.limits import PICTURE_BYTES
from reasoning_lab_trainer.data.picture_check import check_pictures
from reasoning_lab_trainer.data.pictures import Pictures, decoded
from reasoning_lab_trainer.data.problems import open_row_problems, problems_hash
from reasoning_lab_trainer.models.load import load_policy
from safetensors.torch import load_file
from scripted_driver import ScriptedDriver, digits_reward
from tiny_model import grpo_stage, make_model, recipe
from tiny_vision_model import make_vision_model, squares
from transformers import AutoModelForImageTextToText, AutoProcessor, PrinterCallback
from trl import GRPOConfig, GRPOTrainer

STEPS = 3
SEED = 3


def png(width: int, height: int) -> bytes:
    """Returns a PNG file that declares a size and has no pixels."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


def encoded(kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (6, 4), "red").save(buffer, kind, **options)
    return buffer.getvalue()


def test_decodes_pictures_upright_within_limits() -> None:
    for kind in ("PNG", "JPEG", "WEBP"):
        picture = decoded(encoded(kind), "It")
        assert (picture.size, picture.mode) == ((6, 4), "RGB")
    turned = Image.Exif()
    turned[0x0112] = 6
    assert decoded(encoded("JPEG", exif=turned), "It").size == (4, 6)
    for content in (png(100_000, 2), png(16_000, 16_000), png(60_000, 60_000)):
        with fails("unsupported", "pixels"):
            decoded(content, "It")
    svg = b'<svg xmlns="http://www.w3.org/2000/svg" width="6" height="4"/>'
    for content in (b"", b"\x89PNG", encoded("PNG")[:40], encoded("GIF"), encoded("BMP"), svg, png(4, 4)):
        with fails("invalid", "not a readable PNG, JPEG or WebP file"):
            decoded(content, "It")


def test_paths_stay_in_the_folder_of_the_dataset(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    (folder / "inner").mkdir(parents=True)
    (tmp_path / "outside.png").write_bytes(encoded("PNG"))
    (folder / "inner" / "a.png").write_bytes(encoded("PNG"))
    (folder / "link.png").symlink_to(tmp_path / "outside.png")
    pictures = Pictures("picture", folder, folder)

    def of(value: Any) -> Any:
        row = {"picture": value}
        return pictures.of_problem({"index": 0, "prompt": "", "answer": None, "solution": None, "row": row})

    assert of("inner/a.png").size == of({"path": "inner/a.png", "bytes": None}).size == (6, 4)
    for path in ("../outside.png", str(tmp_path / "outside.png"), "inner/../../outside.png", "a\0.png", "C:\\a.png"):
        with fails("invalid", "not inside the dataset's folder"):
            of(path)
    with fails("invalid", "links to a file outside the dataset's folder"):
        of("link.png")
    with fails("missing", "does not exist"):
        of("b.png")
    # The second name is too long for the file system.
    for path in ("inner", f"{'a' * 300}.png"):
        with fails("invalid", "not a regular file"):
            of(path)
    for value in (None, 7, "", [], {"path": None}):
        with fails("invalid", "neither a path nor an image"):
            of(value)


def test_checks_pictures_before_a_run(tmp_path: Path) -> None:
    for i in range(12):
        (tmp_path / f"{i}.png").write_bytes(encoded("PNG"))
    rows = [{"prompt": f"what is {i}?", "answer": "7", "picture": f"{i}.png"} for i in range(12)]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    columns = {"prompt": "prompt", "answer": "answer", "solution": "solution", "image": "picture"}
    dataset = {"path": str(tmp_path / "rows.json"), "heldOut": None, "heldOutShare": 0.3, **columns}
    recipe = {"dataset": dataset, "seed": 1}
    pictures = Pictures.of(recipe)
    assert pictures is not None
    problems = open_row_problems(recipe)
    assert problems.held_out_total > 0
    check_pictures(pictures, problems)
    for i in range(12):
        file = tmp_path / f"{i}.png"
        for content, kind, what in (
            (None, "missing", "does not exist"),
            (b"GIF89a", "invalid", "not a readable PNG, JPEG or WebP file"),
            (png(100_000, 2), "unsupported", "100000 x 2 pixels"),
        ):
            file.unlink() if content is None else file.write_bytes(content)
            with fails(kind, f'The image in column "picture" ({i}.png)', what):
                check_pictures(pictures, problems)
        with file.open("wb") as large:
            large.truncate(PICTURE_BYTES + 1)
        with fails("unsupported", "exceeds the limit"):
            check_pictures(pictures, problems)
        # Only the beginning is read: pixels are decoded when they are needed.
        file.write_bytes(encoded("PNG")[:-30])
        check_pictures(pictures, problems)
        file.write_bytes(encoded("PNG"))
    rows[3]["picture"] = ""
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    with fails("invalid", "'what is 3?' contains neither a path nor an image"):
        check_pictures(pictures, open_row_problems(recipe))


def test_reads_the_images_of_a_parquet_file(tmp_path: Path) -> None:
    contents = [encoded("JPEG", quality=40 + i) + bytes(i) for i in range(20)]
    table = {
        "prompt": ["what is it?"] * 20,
        "answer": ["7"] * 20,
        "picture": [{"bytes": content, "path": None} for content in contents],
    }
    pq.write_table(pa.table(table), tmp_path / "rows.parquet")
    columns = {"prompt": "prompt", "answer": "answer", "solution": "solution", "image": "picture"}
    dataset = {"path": str(tmp_path / "rows.parquet"), "heldOut": None, "heldOutShare": 0.2, **columns}
    problems = open_row_problems({"dataset": dataset, "seed": 1})
    # Rows with the same prompt and different pictures are different problems.
    assert 0 < problems.held_out_total < 20 and problems.total + problems.held_out_total == 20
    pictures = Pictures.of({"dataset": dataset})
    assert pictures is not None
    for problem in problems.training(0, 4):
        assert pictures.of_problem(problem).size == (6, 4)
        assert problem["row"]["picture"] == {"bytes": f"{len(problem['image'])} bytes", "path": None}
    assert len(problems_hash(problems)) == 64


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_vision_model(tmp_path_factory.mktemp("vision"))


def plain(model: str, stage: dict[str, Any], folder: Path, rows: list[dict[str, Any]], output: Path) -> Any:
    """Returns the lines that TRL logs for the same training, and the final weights."""
    count = stage["prompts_per_step"] * stage["num_generations"]
    arguments = GRPOConfig(
        output_dir=str(output),
        per_device_train_batch_size=count,
        num_generations=stage["num_generations"],
        max_completion_length=stage["max_completion_length"],
        temperature=stage["temperature"],
        beta=stage["beta"],
        epsilon=stage["epsilon"],
        epsilon_high=stage["epsilon_high"],
        loss_type=stage["loss_type"],
        scale_rewards=stage["scale_rewards"],
        reward_weights=[1.0, 0.5],
        shuffle_dataset=False,
        max_steps=stage["steps"],
        learning_rate=stage["learning_rate"],
        lr_scheduler_type=stage["lr_scheduler_type"],
        warmup_steps=stage["warmup_steps"],
        seed=SEED,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
    )
    asked = [
        {"prompt": [{"role": "user", "content": row["prompt"]}], "image": Image.open(folder / row["picture"])}
        for row in rows
    ]

    def of_text(function: Any) -> Any:
        def reward(completions: list[Any], **_: Any) -> list[float | None]:
            return function([completion[0]["content"] for completion in completions])

        reward.__name__ = function.__name__
        return reward

    trainer = GRPOTrainer(
        model=AutoModelForImageTextToText.from_pretrained(model, dtype=torch.float32),
        reward_funcs=[of_text(digits), of_text(length)],
        args=arguments,
        train_dataset=Dataset.from_list(asked),
        processing_class=AutoProcessor.from_pretrained(model),
    )
    log = Log()
    trainer.add_callback(log)
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return log.lines, trainer.model.state_dict()


def test_trains_on_pictures_exactly_like_trl(model: str, tmp_path: Path) -> None:
    rows = squares(tmp_path, 2 * STEPS)
    stage = grpo_stage(STEPS, beta=0.02)
    lines, weights = plain(model, stage, tmp_path, rows, tmp_path / "plain")
    checkpoint = tmp_path / "checkpoint"

    def orders(method: str, params: dict[str, Any]) -> list[dict[str, Any]] | None:
        if method == "step" and params["step"] == STEPS:
            return [{"do": "checkpoint", "id": 1, "folder": str(checkpoint)}]
        if method == "step" and params["step"] == 1:
            order = {"do": "evaluate", "id": 2, "name": "heldout", "problems": 2, "samples": 2}
            return [{**order, "temperature": 1, "maxTokens": 4}, {"do": "wait"}]
        return None

    data = {"path": str(tmp_path / "squares.jsonl"), "image": "picture", "heldOut": None}
    template = {"name": None, "prompt": "{prompt}", "chat": True, "think": None, "answer": None}
    given = recipe(model, [stage], seed=SEED, dataset=data, template=template)
    driver = ScriptedDriver(given, rewards=digits_reward, orders=orders)

    def problem(index: int) -> dict[str, Any]:
        row = rows[index % len(rows)]
        return {"index": index, "prompt": row["prompt"], "answer": None, "solution": None, "row": row}

    driver.problem = problem
    assert run(driver.link, "token", World()) == 0
    driver.close()
    assert len(driver.steps) == len(lines) == STEPS
    for line, step in zip(lines, driver.steps, strict=True):
        for key in line.keys() - {"step_time"}:
            assert step["metrics"][key] == line[key], f"{key} of step {step['step']}"
    trained = load_file(checkpoint / "model.safetensors")
    saved = AutoModelForImageTextToText.from_pretrained(checkpoint).state_dict()
    assert trained and all(torch.equal(saved[name], value) for name, value in weights.items())
    # The checkpoint opens as the model of another recipe.
    policy = load_policy({**given, "model": {"path": str(checkpoint)}}, None, torch.device("cpu"))
    assert policy.processor is not None
    assert policy.model.generation_config.suppress_tokens == [policy.tokenizer.convert_tokens_to_ids("<image>")]
    evaluated = next(answer["value"]["samples"] for answer in driver.answers if answer["id"] == 2)
    assert [(sample["problem"], sample["sample"]) for sample in evaluated] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert all(sample["prompt"].startswith("<image>where is square") for sample in evaluated)


def test_records_each_picture_once(model: str, tmp_path: Path) -> None:
    rows = squares(tmp_path, 4)
    stage = grpo_stage(2, beta=0)
    data = {"path": str(tmp_path / "squares.jsonl"), "image": "picture", "heldOut": None}
    template = {"name": None, "prompt": "{prompt}", "chat": True, "think": None, "answer": None}
    driver = ScriptedDriver(recipe(model, [stage], dataset=data, template=template), rewards=digits_reward)
    # The second step has the same problems as the first.
    driver.problem = lambda index: {
        "index": index % 2,
        "prompt": rows[index % 2]["prompt"],
        "answer": None,
        "solution": None,
        "row": rows[index % 2],
    }
    received: list[list[dict[str, str]]] = []
    driver.on_pictures = received.append
    assert run(driver.link, "token", World()) == 0
    driver.close()
    assert [len(files) for files in received] == [2]
    for file in received[0]:
        content = base64.b64decode(file["content"])
        assert file["file"] == f"{hashlib.sha256(content).hexdigest()}.png"
        assert Image.open(io.BytesIO(content)).size == (32, 32)
    lines = [line for step in driver.steps for line in step["rollouts"]]
    names = {file["file"] for file in received[0]}
    assert all(line["extra"]["picture"]["file"] in names for line in lines)
    assert lines[0]["extra"]["picture"] == lines[1]["extra"]["picture"] != lines[4]["extra"]["picture"]
    # Prompts and rewards receive no pictures.
    assert lines[0]["prompt"] == [{"role": "user", "content": rows[0]["prompt"]}]
    scored = driver.of("rewards/score")[0]["rows"][0]
    assert scored["messages"]["prompt"] == [{"role": "user", "content": rows[0]["prompt"]}]


def test_rejects_models_that_do_not_read_pictures(model: str, tmp_path: Path) -> None:
    given = recipe(make_model(tmp_path / "text"), [], dataset={"path": "/data/rows.jsonl", "image": "picture"})
    with fails("mismatch", "does not support image input"):
        load_policy(given, None, torch.device("cpu"))
    bare = shutil.copytree(model, tmp_path / "bare", ignore=shutil.ignore_patterns("*processor*"))
    with fails("missing", "has no processor"):
        load_policy({**given, "model": {"path": str(bare)}}, None, torch.device("cpu"))
