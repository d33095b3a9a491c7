"""Loads exported files with their target libraries and prints the results as one JSON object.

Usage: exported_data.py SFT DPO STEPWISE PRM800K; SFT and DPO may be standard or conversational.
"""

import json
import os
import sys
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")

from datasets import load_dataset
from tokenizers import Tokenizer, pre_tokenizers
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM, Qwen2ForTokenClassification

TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content or '' }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIALS = ["<pad>", "<eos>", "<unk>", "<|user|>", "<|assistant|>", "<|system|>", "<|tool|>", "<|end|>"]


def load(path, cache):
    return load_dataset("json", data_files=path, split="train", cache_dir=cache)


def make_tokenizer(paths):
    characters = sorted({character for path in paths for character in open(path, encoding="utf-8").read()} | {"\n"})
    vocabulary = {token: i for i, token in enumerate(SPECIALS + characters)}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.add_special_tokens(SPECIALS)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>", model_max_length=100_000
    )
    fast.chat_template = TEMPLATE
    return fast


def small(model_class, tokenizer, **more):
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=8,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=8192,
        pad_token_id=tokenizer.pad_token_id,
        **more,
    )
    return model_class(config)


def trained(trainer_class, config_class, model, tokenizer, dataset, folder, models=None, **more):
    args = config_class(
        output_dir=folder,
        max_steps=1,
        per_device_train_batch_size=2,
        report_to=[],
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        save_strategy="no",
        **more,
    )
    trainer = trainer_class(model=model, args=args, train_dataset=dataset, processing_class=tokenizer, **(models or {}))
    loss = trainer.train().training_loss
    return trainer, loss


def main(sft, dpo, stepwise, prm800k):
    from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer
    from trl.data_utils import is_conversational
    from trl.experimental.prm import PRMConfig, PRMTrainer

    found = {}
    with tempfile.TemporaryDirectory() as folder:
        files = {"sft": sft, "dpo": dpo, "stepwise": stepwise, "prm800k": prm800k}
        data = {name: load(path, os.path.join(folder, "cache")) for name, path in files.items()}
        tokenizer = make_tokenizer(files.values())
        for name, rows in data.items():
            found[name] = {"rows": len(rows), "columns": rows.column_names, "conversational": is_conversational(rows[0])}

        trainer, loss = trained(
            SFTTrainer, SFTConfig, small(Qwen2ForCausalLM, tokenizer), tokenizer, data["sft"], folder, max_length=None
        )
        row = trainer.train_dataset[0]
        found["sft"]["loss"] = loss
        found["sft"]["text"] = tokenizer.decode(row["input_ids"])
        batch = trainer.data_collator([row])
        found["sft"]["learnt"] = tokenizer.decode([label for label in batch["labels"][0].tolist() if label != -100])

        trainer, loss = trained(
            DPOTrainer,
            DPOConfig,
            small(Qwen2ForCausalLM, tokenizer),
            tokenizer,
            data["dpo"],
            folder,
            models={"ref_model": small(Qwen2ForCausalLM, tokenizer)},
            max_length=None,
        )
        row = trainer.train_dataset[0]
        found["dpo"]["loss"] = loss
        found["dpo"]["tokens"] = {
            key: tokenizer.decode(value) for key, value in row.items() if key.endswith("ids") and isinstance(value, list)
        }

        trainer, loss = trained(
            PRMTrainer,
            PRMConfig,
            small(Qwen2ForTokenClassification, tokenizer, num_labels=2),
            tokenizer,
            data["stepwise"],
            folder,
            max_length=None,
            max_completion_length=None,
        )
        found["stepwise"]["loss"] = loss
        found["stepwise"]["labels"] = [
            [label for label in row["labels"] if label != -100] for row in trainer.train_dataset
        ]
        found["prm800k"]["ratings"] = [
            [completion["rating"] for step in row["label"]["steps"] for completion in step["completions"]]
            for row in data["prm800k"]
        ]
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:5])
