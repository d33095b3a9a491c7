"""Tiny models shared by all tests, and recipes as the driver passes them."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from reasoning_lab_trainer.course.run import run
from reasoning_lab_trainer.course.world import World
from reasoning_lab_trainer.failure import Failure
from scripted_driver import ScriptedDriver
from tiny_model import grpo_stage, make_model
from tiny_model import recipe as tiny_recipe
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

# Environment hosts, which the trainer itself never imports.
sys.path.append(str(Path(__file__).parents[3] / "src" / "rewards" / "python"))

SYMBOLS = [*"0123456789+-=;", "<think>", "</think>", "<answer>", "</answer>"]

CHAT = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<eos>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def make_tokenizer() -> PreTrainedTokenizerFast:
    """Returns a byte-level BPE tokenizer trained on sums."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    lines = [f"{a}+{b}=<think>{a}+{b}={a + b}</think><answer>{a + b}</answer>" for a in range(20) for b in range(20)]
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<pad>", "<bos>", "<eos>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(lines, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<bos>", eos_token="<eos>", chat_template=CHAT
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "acceptance: repeats a test with more cases; runs only in npm run acceptance")


@pytest.fixture(scope="session")
def llama_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a Llama-type model with random weights, 2 layers and width 32, and its tokenizer."""
    folder = tmp_path_factory.mktemp("llama")
    tokenizer = make_tokenizer()
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def plain_run(tmp_path_factory: pytest.TempPathFactory) -> ScriptedDriver:
    """Returns the driver of an ordinary GRPO run of three steps, with the model of `make_model`."""
    driver = ScriptedDriver(tiny_recipe(make_model(tmp_path_factory.mktemp("plain")), [grpo_stage(3)]))
    assert run(driver.link, "token", World()) == 0, driver.of("fault")
    driver.close()
    return driver


def lab_tokenizer_json(symbols: list[str] = SYMBOLS) -> str:
    """Returns a tokenizer.json in the format of `src/core/text/tokenizerJson.ts`."""
    special = ["<pad>", "<bos>", "<eos>"]
    whole = [s for s in symbols if len(s) > 1]
    ordered = [*special, *whole, *[s for s in symbols if len(s) == 1]]
    added = [
        {
            "id": id,
            "content": content,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": id < 3,
        }
        for id, content in enumerate([*special, *whole])
    ]
    bos = {"SpecialToken": {"id": "<bos>", "type_id": 0}}
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": added,
            "normalizer": None,
            "pre_tokenizer": {
                "type": "Split",
                "pattern": {"Regex": "[\\s\\S]"},
                "behavior": "Isolated",
                "invert": False,
            },
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [bos, {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [bos, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
                "special_tokens": {"<bos>": {"id": "<bos>", "ids": [1], "tokens": ["<bos>"]}},
            },
            "decoder": {"type": "Fuse"},
            "model": {
                "type": "WordLevel",
                "vocab": {symbol: id for id, symbol in enumerate(ordered)},
                "unk_token": "[UNK]",
            },
        }
    )


@pytest.fixture(scope="session")
def new_model() -> dict[str, Any]:
    """Returns `newModel` for an assignment: two layers of width 32."""
    text = lab_tokenizer_json()
    vocabulary = len(json.loads(text)["model"]["vocab"])
    shape = {"vocabulary": vocabulary, "context": 48, "width": 32, "heads": 4, "layers": 2, "feedForward": 64}
    return {"tokenizer": text, "shape": shape}


RECIPE: dict[str, Any] = {
    "format": 1,
    "name": "test",
    "engine": "pytorch",
    "device": "cpu",
    "seed": 1,
    "dataset": {"task": "addition", "digits": 1, "subtraction": False},
    "model": {"layers": 2, "width": 32, "heads": 4, "feedForward": 64, "context": 48},
    "pytorch": {
        "processes": 1,
        "strategy": "ddp",
        "precision": None,
        "attention": "auto",
        "gradientCheckpointing": False,
        "microBatch": None,
        "packing": False,
        "maxLength": 1024,
        "lora": None,
        "vllm": None,
        "rewards": "hosts",
    },
    "template": {
        "name": "r1",
        "prompt": "{prompt}",
        "think": ["<think>", "</think>"],
        "answer": ["<answer>", "</answer>"],
    },
    "rewards": [],
    "stages": [],
    "evaluate": {"every": 20, "problems": 16, "samples": 1, "temperature": 1},
    "checkpoint": {"every": 50, "keep": 3},
    "log": {"rolloutsEvery": 1, "tokens": True},
}


@pytest.fixture
def recipe() -> dict[str, Any]:
    """Returns a resolved recipe for the pytorch engine that the test can modify."""
    return copy.deepcopy(RECIPE)


class fails:
    """Expects a Failure with this reason whose message contains the given parts."""

    def __init__(self, reason: str, *parts: str) -> None:
        self.reason, self.parts = reason, parts

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        assert isinstance(error, Failure), f"expected a Failure, got {error!r}"
        assert error.reason == self.reason, str(error)
        for part in self.parts:
            assert part in str(error), f"{part!r} is not in {error}"
        return True
