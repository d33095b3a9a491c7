"""
Plain TRL script with the same seed and settings as a recipe. `plain_trl.py CONFIG` creates a model, trains it and
writes the results.
"""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from scripted_driver import addition, digits_reward
from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback, TrainerCallback
from trl import GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer
from trl.experimental.gmpo import GMPOConfig, GMPOTrainer
from trl.experimental.gspo_token import GRPOTrainer as GSPOTokenTrainer

GRPO_KEYS = (
    "loss_type",
    "scale_rewards",
    "use_bias_correction_kl",
    "importance_sampling_level",
    "off_policy_mask_threshold",
    "top_entropy_quantile",
    "sapo_temperature_neg",
    "vespo_k_neg",
    "entropy_coef",
    "use_adaptive_entropy",
    "entropy_target",
)


class Log(TrainerCallback):
    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        if "loss" in logs:
            self.lines.append(dict(logs))


def digits(completions: list[str], **_: Any) -> list[float | None]:
    return [digits_reward({"completion": text})["digits"] for text in completions]


def length(completions: list[str], **_: Any) -> list[float | None]:
    return [digits_reward({"completion": text})["length"] for text in completions]


def classes_of(stage: dict[str, Any]) -> tuple[type, type]:
    if stage["type"] == "rloo":
        return RLOOConfig, RLOOTrainer
    if stage["loss_type"] == "gmpo":
        return GMPOConfig, GMPOTrainer
    return GRPOConfig, GSPOTokenTrainer if stage.get("importance_sampling_level") == "sequence_token" else GRPOTrainer


def train_plainly(
    model: str,
    stage: dict[str, Any],
    seed: int,
    output: Path,
    micro: int | None = None,
    prompts: list[str] | None = None,
    rewards: list[Callable[..., list[float | None]]] | None = None,
) -> tuple[list[dict[str, Any]], dict[str, torch.Tensor]]:
    """Returns the lines that TRL logs, and the final weights."""
    config, trainer_class = classes_of(stage)
    own = {name: stage[name] for name in GRPO_KEYS if name in stage and stage["type"] == "grpo"}
    if own.get("loss_type") == "gmpo":
        del own["loss_type"]  # GMPOTrainer has one loss.
    rows = stage["prompts_per_step"] * stage["num_generations"] // stage["steps_per_generation"]
    batch = micro or rows
    arguments = config(
        output_dir=str(output),
        per_device_train_batch_size=batch,
        gradient_accumulation_steps=rows // batch,
        steps_per_generation=stage["steps_per_generation"] * (rows // batch),
        num_generations=stage["num_generations"],
        num_iterations=stage["num_iterations"],
        max_completion_length=stage["max_completion_length"],
        temperature=stage["temperature"],
        beta=stage["beta"],
        epsilon=stage["epsilon"],
        epsilon_high=stage["epsilon_high"],
        reward_weights=[1.0, 0.5],
        shuffle_dataset=False,
        max_steps=stage["steps"],
        learning_rate=stage["learning_rate"],
        lr_scheduler_type=stage["lr_scheduler_type"],
        warmup_steps=stage["warmup_steps"],
        seed=seed,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        **own,
    )
    updates = stage["steps_per_generation"] * stage["num_iterations"]
    problems = -(-stage["steps"] // updates) * stage["prompts_per_step"]
    prompts = prompts or [addition(i)["prompt"] for i in range(problems)]
    trainer = trainer_class(
        model=AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32),
        reward_funcs=rewards or [digits, length],
        args=arguments,
        train_dataset=Dataset.from_list([{"prompt": prompt} for prompt in prompts]),
        processing_class=AutoTokenizer.from_pretrained(model),
    )
    log = Log()
    trainer.add_callback(log)
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return log.lines, {name: value.detach().clone() for name, value in trainer.model.state_dict().items()}


def main() -> None:
    """`folder`: for the model and results; `stage`, `seed`, `prompts`; `rewards`: a file and the names in it."""
    from safetensors.torch import save_file
    from tiny_model import make_model

    config = json.loads(Path(sys.argv[1]).read_text())
    folder = Path(config["folder"])
    model = make_model(folder / "model", layers=2)
    functions = runpy.run_path(config["rewards"]["file"])
    lines, weights = train_plainly(
        model,
        config["stage"],
        config["seed"],
        folder / "output",
        prompts=config["prompts"],
        rewards=[functions[name] for name in config["rewards"]["names"]],
    )
    (folder / "lines.json").write_text(json.dumps(lines))
    save_file(weights, folder / "plain.safetensors")


if __name__ == "__main__":
    main()
