"""A model that writes one text after a prompt, and otherwise ends its turn. `scripted_model.py FOLDER` writes it; the
JSON on standard input has the `prompt` (messages), the `tools` (schemas) and the `text`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import torch
from tool_model import make_tokenizer
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

CONTEXT = 4096


def make_model(tokenizer: PreTrainedTokenizerFast, start: int, text: str) -> GPT2LMHeadModel:
    """Returns a model whose next token depends only on the position: the blocks add nothing, and the embedding of a
    position is that of the token to write.
    """
    size = len(tokenizer)
    config = GPT2Config(
        vocab_size=size,
        n_positions=CONTEXT,
        n_embd=size,
        n_layer=1,
        n_head=1,
        n_inner=8,
        bos_token_id=0,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=False,
        embd_pdrop=0,
        resid_pdrop=0,
        attn_pdrop=0,
    )
    model = GPT2LMHeadModel(config)
    written = torch.full((CONTEXT,), tokenizer.eos_token_id)
    ids = torch.tensor(tokenizer(text)["input_ids"])
    written[start - 1 : start - 1 + len(ids)] = ids
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model.transformer.ln_f.weight.fill_(1)
        model.transformer.wpe.weight.copy_(torch.nn.functional.one_hot(written, size))
        # The gap between the most likely token and the others is about 40 nats.
        model.lm_head.weight.copy_(2.5 * torch.eye(size))
    return model


def write_model(folder: str, prompt: list[dict[str, Any]], tools: list[dict[str, Any]], text: str) -> None:
    tokenizer = make_tokenizer()
    described = [{"type": "function", "function": schema} for schema in tools]
    ids = tokenizer.apply_chat_template(prompt, tools=described, add_generation_prompt=True, tokenize=True)
    make_model(tokenizer, len(ids["input_ids"]), text).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    write_model(sys.argv[1], **json.load(sys.stdin))
