"""Trains a model to count in a few seconds, and saves it with its tokenizer.

Usage: counting_model.py FOLDER
"""

import os
import string
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")

import torch
from tokenizers import Regex, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast, LlamaConfig, LlamaForCausalLM

TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content or '' }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIALS = ["<pad>", "<|end|>", "<unk>", "<|user|>", "<|assistant|>", "<|system|>"]
NUMBERS = [str(n) for n in range(1, 31)] + [f" {n}" for n in range(1, 31)]


def make_tokenizer():
    characters = [c for c in string.printable if c not in NUMBERS]
    vocabulary = {token: i for i, token in enumerate(SPECIALS + NUMBERS + characters)}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r" ?\d+|[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens(SPECIALS)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="<|end|>",
        unk_token="<unk>",
        model_max_length=512,
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = TEMPLATE
    return fast


def main(folder):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    tokenizer = make_tokenizer()
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=48,
            intermediate_size=96,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=512,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    numbers = "1" + "".join(f" {n}" for n in range(2, 31))
    rows = []
    generator = torch.Generator().manual_seed(1)
    for i in range(64):
        length = int(torch.randint(0, 90, (1,), generator=generator))
        words = "".join(string.ascii_letters[int(k)] for k in torch.randint(0, 52, (length,), generator=generator))
        before = f"<|user|>{words}.<|end|><|assistant|>" if i % 2 == 0 else f"{words}."
        rows.append(tokenizer(before + numbers + "<|end|>")["input_ids"])
    width = max(map(len, rows))
    ids = torch.tensor([row + [tokenizer.pad_token_id] * (width - len(row)) for row in rows])
    # Only the numbers and the end token are trained.
    labels = torch.full_like(ids, -100)
    for i, row in enumerate(rows):
        labels[i, len(row) - 31 : len(row)] = ids[i, len(row) - 31 : len(row)]
    mask = (ids != tokenizer.pad_token_id).long()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(150):
        loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss.item() < 0.01:
            break
    model.generation_config.do_sample = True
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    print(f"loss {loss.item():.4f}")


main(sys.argv[1])
