"""Tiny models in Hugging Face's folder format, and recipes for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

CHARACTERS = "0123456789+-=*/ abcdefgh<>.:?"


def make_model(folder: Path, layers: int = 1, width: int = 32) -> str:
    """Creates a character-level Llama with random weights that are the same every time."""
    vocabulary = {symbol: i for i, symbol in enumerate(["<pad>", "<bos>", "<eos>", "<unk>", *CHARACTERS])}
    plain = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    plain.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="<pad>", bos_token="<bos>", eos_token="<eos>", unk_token="<unk>"
    )
    torch.manual_seed(7)
    config = LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=128,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
        tie_word_embeddings=False,
    )
    model = LlamaForCausalLM(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


OPTIMISER: dict[str, Any] = {
    "until": None,
    "learning_rate": 1e-3,
    "lr_scheduler_type": "constant_with_warmup",
    "warmup_steps": 0,
    "max_grad_norm": 1,
    "weight_decay": 0,
    "adam_beta1": 0.9,
    "adam_beta2": 0.999,
    "adam_epsilon": 1e-8,
}


def grpo_stage(steps: int, **settings: Any) -> dict[str, Any]:
    return {
        "type": "grpo",
        "steps": steps,
        **OPTIMISER,
        "num_generations": 4,
        "prompts_per_step": 2,
        "steps_per_generation": 1,
        "num_iterations": 1,
        "max_completion_length": 8,
        "temperature": 1,
        "beta": 0.02,
        "epsilon": 0.2,
        "epsilon_high": 0.28,
        "loss_type": "dapo",
        "scale_rewards": "group",
        "mask_truncated_completions": False,
        "dynamic_sampling": False,
        "max_resamples": 3,
        "skip_dead_groups": False,
        "control": None,
        **settings,
    }


def rloo_stage(steps: int, **settings: Any) -> dict[str, Any]:
    stage = grpo_stage(steps)
    for name in ("loss_type", "scale_rewards", "dynamic_sampling", "max_resamples", "skip_dead_groups", "control"):
        del stage[name]
    return {**stage, "type": "rloo", **settings}


def sft_stage(steps: int, **settings: Any) -> dict[str, Any]:
    return {"type": "sft", "steps": steps, **OPTIMISER, "batch_size": 4, **settings}


def recipe(model: str | None, stages: list[dict[str, Any]], **settings: Any) -> dict[str, Any]:
    """Returns a recipe as resolved by the driver, limited to what the trainer reads."""
    pytorch = {
        "processes": 1,
        "strategy": "ddp",
        "precision": "float32",
        "attention": "auto",
        "gradientCheckpointing": False,
        "microBatch": None,
        "packing": False,
        "maxLength": 64,
        "lora": None,
        "vllm": None,
        "rewards": "hosts",
        **settings.pop("pytorch", {}),
    }
    return {
        "format": 1,
        "name": "test",
        "engine": "pytorch",
        "device": "cpu",
        "seed": 3,
        "dataset": {"task": "addition"},
        "model": {"path": model},
        "template": {"name": "plain", "prompt": "{prompt}", "think": None, "answer": None},
        "rewards": [{"use": "digits", "weight": 1.0}, {"use": "length", "weight": 0.5}],
        "stages": stages,
        "pytorch": pytorch,
        "evaluate": {"every": 20, "problems": 8, "samples": 1, "temperature": 1},
        "checkpoint": {"every": 50, "keep": 3},
        "log": {"rolloutsEvery": 1, "tokens": True},
        **settings,
    }
