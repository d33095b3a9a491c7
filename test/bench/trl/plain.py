"""A plain, well-tuned GRPOTrainer script, used as the baseline for Reasoning Lab's engines.

It prints one line of JSON per step to standard output:

    {"step": 3, "time": 1795333087.5, "cpu": 12.81, "phases": {"generate": 0.31, "reward": 0.001, "logprobs": 0.07,
     "update": 0.32}, "loss": 0.01, "reward": 0.41, "frac_reward_zero_std": 0.125, "completions/mean_length": 30.9}

`time` is the end of the step in seconds; `cpu` is the user and system time of the process so far; `phases` are
wall-clock seconds within the step. The only code used from Reasoning Lab is the model class for embedded engine
checkpoints.
"""

import argparse
import importlib.util
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains with GRPOTrainer and prints what each step took.")
    parser.add_argument("--model", required=True, help="model folder, or a checkpoint of the embedded engine")
    parser.add_argument("--problems", required=True, help="JSON lines with prompt and answer, in the order of training")
    parser.add_argument("--rewards", required=True, help="Python file and its functions: rewards.py:accuracy,format")
    parser.add_argument("--config", required=True, help="arguments of GRPOConfig, as JSON")
    parser.add_argument("--threads", type=int, default=0, help="0: as many as torch chooses")
    parser.add_argument("--attention", default="sdpa", help="implementation of attention")
    return parser.parse_args()


class Phases:
    """Wall-clock seconds per phase since the last `take`. Nested phases are not counted in the outer phase."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._inner = 0.0

    def measure(self, owner: object, method: str, name: str, when: Callable[[], bool] = lambda: True) -> None:
        original = getattr(owner, method)

        @wraps(original)
        def timed(*args: Any, **kwargs: Any) -> Any:
            if not when():
                return original(*args, **kwargs)
            outer, self._inner = self._inner, 0.0
            start = time.perf_counter()
            try:
                return original(*args, **kwargs)
            finally:
                spent = time.perf_counter() - start
                self._seconds[name] = self._seconds.get(name, 0.0) + spent - self._inner
                self._inner = outer + spent

        setattr(owner, method, timed)

    def take(self) -> dict[str, float]:
        seconds, self._seconds = self._seconds, {}
        return seconds


def main() -> None:
    options = arguments()
    if options.threads > 0:
        os.environ["OMP_NUM_THREADS"] = str(options.threads)
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"

    import torch
    from datasets import Dataset
    from transformers import PrinterCallback, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    cuda = torch.cuda.is_available()
    phases = Phases()

    class Report(TrainerCallback):
        """Prints one line at the end of each step."""

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
            state.log_history.clear()
            if logs is None or "loss" not in logs:
                return
            kept = ("loss", "reward", "frac_reward_zero_std", "completions/mean_length", "completions/max_length")
            line = {
                "step": state.global_step,
                "time": time.time(),
                "cpu": time.process_time(),
                "phases": phases.take(),
                **{name: logs[name] for name in kept if name in logs},
                **({"memory_peak": torch.cuda.max_memory_allocated()} if cuda else {}),
            }
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()

    with tempfile.TemporaryDirectory() as scratch:
        model, tokenizer = open_model(options, Path(scratch) / "model")
        settings = json.loads(options.config)
        config = GRPOConfig(
            output_dir=str(Path(scratch) / "output"),
            save_strategy="no",
            logging_steps=1,
            report_to="none",
            disable_tqdm=True,
            use_cpu=not cuda,
            dataloader_pin_memory=cuda,
            shuffle_dataset=False,
            gradient_checkpointing=False,
            model_init_kwargs={"attn_implementation": options.attention},
            **settings,
        )
        lines = [json.loads(line) for line in Path(options.problems).read_text("utf-8").splitlines()]
        trainer = GRPOTrainer(
            model=model,
            processing_class=tokenizer,
            reward_funcs=load_rewards(options.rewards),
            args=config,
            train_dataset=Dataset.from_list(lines),
            callbacks=[Report()],
        )
        trainer.remove_callback(PrinterCallback)
        measure_phases(trainer, phases)
        trainer.train()


def measure_phases(trainer: Any, phases: Phases) -> None:
    """Measures the same phases as the engines' `time/*` metrics. The rest of a step falls between phases."""
    phases.measure(trainer, "training_step", "update")
    phases.measure(trainer, "_generate", "generate")
    phases.measure(trainer, "_calculate_rewards", "reward")
    generating = False
    inner = trainer._generate_and_score_completions

    def generate_and_score(*args: Any, **kwargs: Any) -> Any:
        nonlocal generating
        generating = True
        try:
            return inner(*args, **kwargs)
        finally:
            generating = False

    trainer._generate_and_score_completions = generate_and_score
    # Inside the loss, this counts as part of the update.
    phases.measure(trainer, "_get_per_token_logps_and_entropies", "logprobs", lambda: generating)
    phases.measure(trainer.create_optimizer(), "step", "update")


def open_model(options: argparse.Namespace, scratch: Path) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = options.model
    if not (Path(folder) / "config.json").exists():
        # Convert the embedded engine's own format to a model folder, because TRL loads its reference model from one.
        from reasoning_lab_trainer.models.lab_checkpoint import load_lab_checkpoint
        from reasoning_lab_trainer.models.tokenizer import lab_tokenizer

        model = load_lab_checkpoint(Path(folder))
        # TRL looks up the reference model's class here if it is not a transformers class.
        model.config.auto_map = {}
        model.save_pretrained(scratch)
        lab_tokenizer((Path(folder) / "tokenizer.json").read_text("utf-8")).save_pretrained(scratch)
        folder = str(scratch)
    # Load as float32 even for bfloat16 training, as TRL and the engine both do.
    model = AutoModelForCausalLM.from_pretrained(folder, dtype="float32", attn_implementation=options.attention)
    return model, AutoTokenizer.from_pretrained(folder)


def load_rewards(where: str) -> list[Callable[..., list[float]]]:
    path, _, names = where.rpartition(":")
    spec = importlib.util.spec_from_file_location("rewards", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [getattr(module, name) for name in names.split(",")]


if __name__ == "__main__":
    main()
