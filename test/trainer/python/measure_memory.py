"""
Measures the peak memory of training steps with plain TRL trainers on tiny models, to check the estimate. Reads a list
of cases as JSON from stdin and writes their peaks in bytes as JSON to the given file.
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import torch
from datasets import Dataset
from live_memory import LiveMemory
from peft import LoraConfig
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast, TrainerCallback
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer


def tokenizer_of(vocabulary: int) -> PreTrainedTokenizerFast:
    words = {f"w{i}": i for i in range(vocabulary - 2)}
    words["<pad>"], words["<eos>"] = vocabulary - 2, vocabulary - 1
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>")


class Phases(TrainerCallback):
    """Measures peak memory in each phase of the second update, when the optimizer's moments exist."""

    def __init__(self, memory: LiveMemory) -> None:
        self.memory = memory
        self.peaks: dict[str, int] = {}

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        gc.collect()
        if state.global_step == 1:
            self.peaks["static"] = self.memory.now
        self.memory.reset()

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.peaks["backward"] = self.memory.peak
        self.memory.reset()

    def on_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.peaks["optimizer"] = self.memory.peak
        self.memory.reset()


def options_of(case: dict[str, Any]) -> dict[str, Any]:
    return {
        "output_dir": mkdtemp(),
        "max_steps": 2,
        "per_device_train_batch_size": case["rows"],
        "gradient_accumulation_steps": case["passes"],
        "learning_rate": 1e-4,
        "use_cpu": True,
        "bf16": case["precision"] == "bfloat16",
        "gradient_checkpointing": case["gradientCheckpointing"],
        "report_to": "none",
        "save_strategy": "no",
        "logging_strategy": "no",
        "disable_tqdm": True,
        "dataloader_pin_memory": False,
    }


def measure(case: dict[str, Any]) -> dict[str, int]:
    memory = LiveMemory()
    folder = Path(mkdtemp())
    (folder / "config.json").write_text(json.dumps(case["config"]))
    tokenizer = tokenizer_of(case["config"]["vocab_size"])
    with memory:
        torch.manual_seed(0)
        config = AutoConfig.from_pretrained(folder)
        # Frozen weights keep this precision; trained weights are float32.
        dtype = torch.bfloat16 if case["lora"] and case["precision"] == "bfloat16" else torch.float32
        model = AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation=case["attention"])
        model.config.pad_token_id, model.config.eos_token_id = tokenizer.pad_token_id, tokenizer.eos_token_id
        model.generation_config.eos_token_id = tokenizer.eos_token_id
        model.generation_config.pad_token_id = tokenizer.pad_token_id
        # TRL loads the reference model from the policy's folder.
        model.save_pretrained(folder)
        model.config._name_or_path = str(folder)
        trainer = trainer_of(case, model, tokenizer, options_of(case))
        reference = getattr(trainer, "ref_model", None)
        if reference is not None:
            memory.add(*reference.parameters())
        phases = Phases(memory)
        trainer.add_callback(phases)
        trainer.train()
    peaks = phases.peaks
    peaks["peak"] = max(peaks["backward"], peaks["optimizer"])
    del trainer, model
    gc.collect()
    return peaks


def trainer_of(case: dict[str, Any], model: Any, tokenizer: Any, options: dict[str, Any]) -> Any:
    rows, prompt, completion = case["rows"], case["prompt"], case["completion"]
    lora = LoraConfig(r=case["lora"], target_modules="all-linear") if case["lora"] else None
    asked = " ".join(["w1"] * prompt)
    said = " ".join(["w2"] * (completion - 1))
    common = {"processing_class": tokenizer, "peft_config": lora}
    if case["stage"] == "sft":
        data = Dataset.from_list([{"prompt": asked, "completion": f" {said}"}] * (rows * case["passes"] * 2))
        return SFTTrainer(model, args=SFTConfig(**options), train_dataset=data, **common)
    if case["stage"] == "dpo":
        pair = {"prompt": asked, "chosen": f" {said}", "rejected": f" {said}"}
        data = Dataset.from_list([pair] * (rows * case["passes"] * 2))
        return DPOTrainer(model, args=DPOConfig(**options, beta=0.1), train_dataset=data, **common)
    grpo = GRPOConfig(
        **options,
        num_generations=rows * case["passes"],
        max_completion_length=completion,
        generation_kwargs={"min_new_tokens": completion},
        beta=case["beta"],
        mask_truncated_completions=False,
    )
    return GRPOTrainer(
        model,
        reward_funcs=lambda completions, **_: [float(i % 2) for i in range(len(completions))],
        args=grpo,
        train_dataset=Dataset.from_list([{"prompt": asked}] * (rows * case["passes"] * 2)),
        **common,
    )


def main() -> None:
    torch.set_num_threads(1)
    # Write to a file, because TRL prints its metrics to stdout.
    Path(sys.argv[1]).write_text(json.dumps([measure(case) for case in json.load(sys.stdin)]))


if __name__ == "__main__":
    main()
