"""A model that writes given turns of a conversation, and otherwise ends its turn. `scripted_model.py FOLDER` writes it;
the JSON on standard input has the `prompt` (messages), the `tools` (schemas) and the `turns`: what the model writes
(`text`), and the tool messages that follow (`results`), of which only the lengths in tokens matter.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import torch
from tool_model import make_tokenizer
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

CONTEXT = 4096


Turn = dict[str, Any]


def make_model(tokenizer: PreTrainedTokenizerFast, texts: list[tuple[int, str]]) -> GPT2LMHeadModel:
    """Returns a model whose next token depends only on the position: it has no blocks, which would only cost time, and
    the embedding of a position equals that of the token to write.

    :param texts: what to write at which position
    """
    size = len(tokenizer)
    config = GPT2Config(
        vocab_size=size,
        n_positions=CONTEXT,
        n_embd=size,
        n_layer=0,
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
    for start, text in texts:
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


def answer_length(tokenizer: PreTrainedTokenizerFast, results: list[dict[str, Any]]) -> int:
    """Returns the number of tokens between the end of a turn and the start of the next one."""
    call = {"type": "function", "function": {"name": "tool", "arguments": {}}}
    turn = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "", "tool_calls": [call]}]
    whole = tokenizer.apply_chat_template([*turn, *results], add_generation_prompt=True, tokenize=False)
    return len(tokenizer(whole.split("</tool_call>" + tokenizer.eos_token, 1)[1])["input_ids"])


def write_model(folder: str, prompt: list[dict[str, Any]], tools: list[dict[str, Any]], turns: list[Turn]) -> None:
    tokenizer = make_tokenizer()
    described = [{"type": "function", "function": schema} for schema in tools]
    ids = tokenizer.apply_chat_template(prompt, tools=described, add_generation_prompt=True, tokenize=True)
    start = len(ids["input_ids"])
    texts = []
    for turn in turns:
        texts.append((start, turn["text"]))
        start += len(tokenizer(turn["text"])["input_ids"]) + 1 + answer_length(tokenizer, turn["results"])
    make_model(tokenizer, texts).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    write_model(sys.argv[1], **json.load(sys.stdin))
