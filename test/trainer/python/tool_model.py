"""A tiny model with random weights whose chat template supports tools. `tool_model.py FOLDER` writes it."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import trl
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast


def make_tokenizer() -> PreTrainedTokenizerFast:
    """Returns a byte-level tokenizer with Qwen3's chat template, whose tool calls TRL can parse."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {symbol: i for i, symbol in enumerate(["<|endoftext|>", "<|im_start|>", "<|im_end|>", *alphabet])}
    plain = Tokenizer(models.BPE(vocabulary, []))
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.decoder = decoders.ByteLevel()
    template = Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja"
    return PreTrainedTokenizerFast(
        tokenizer_object=plain,
        pad_token="<|endoftext|>",
        eos_token="<|im_end|>",
        additional_special_tokens=["<|im_start|>"],
        chat_template=template.read_text(),
    )


def make_model(context: int) -> LlamaForCausalLM:
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=len(make_tokenizer()),
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        num_key_value_heads=1,
        max_position_embeddings=context,
        pad_token_id=0,
        eos_token_id=2,
    )
    return LlamaForCausalLM(config)


def write_model(folder: Path, context: int = 8192) -> str:
    make_model(context).save_pretrained(folder)
    make_tokenizer().save_pretrained(folder)
    return str(folder)


if __name__ == "__main__":
    write_model(Path(sys.argv[1]))
