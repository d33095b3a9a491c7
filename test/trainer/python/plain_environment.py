"""Plain TRL script that trains one step on an environment file. `plain_environment.py CONFIG` reads the `model`, the
`file`, its `rows` (with a column `lock`), the number of `generations` per row and of `tokens` per completion, and
writes the tools and the episodes to episodes.json in the folder `output`.
"""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers.utils import get_json_schema
from trl import GRPOConfig, GRPOTrainer


def main() -> None:
    config = json.loads(Path(sys.argv[1]).read_text())
    [factory] = [
        member
        for name, member in runpy.run_path(config["file"]).items()
        if isinstance(member, type) and not name.startswith("_")
    ]
    episodes: list[dict[str, Any]] = []

    def record(prompts: Any, completions: Any, completion_ids: Any, lock: list[int], **_: Any) -> list[None]:
        for prompt, completion, ids, one in zip(prompts, completions, completion_ids, lock, strict=True):
            text = trainer.processing_class.decode(ids)
            episodes.append({"lock": one, "prompt": prompt, "completion": completion, "text": text})
        return [None] * len(prompts)

    completions = len(config["rows"]) * config["generations"]
    trainer = GRPOTrainer(
        model=config["model"],
        reward_funcs=record,
        environment_factory=factory,
        train_dataset=Dataset.from_list(config["rows"]),
        args=GRPOConfig(
            output_dir=config["output"],
            per_device_train_batch_size=completions,
            num_generations=config["generations"],
            max_completion_length=config["tokens"],
            max_steps=1,
            learning_rate=1e-5,
            beta=0,
            shuffle_dataset=False,
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            bf16=False,
        ),
    )
    trainer.train()
    earned = trainer._logs["rewards"][factory.__name__]
    for episode, reward in zip(episodes, earned, strict=True):
        episode["reward"] = reward
    tools = [get_json_schema(tool)["function"] for tool in trainer.tools]
    # TRL prints metrics to standard output.
    Path(config["output"], "episodes.json").write_text(json.dumps({"tools": tools, "episodes": episodes}))


if __name__ == "__main__":
    main()
