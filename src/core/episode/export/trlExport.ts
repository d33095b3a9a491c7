import { type ExportedEnvironment, type ExportedFiles, environmentModule, generatedBy } from './environmentExport.ts';

/** Returns a script for TRL's GRPOTrainer. */
export function trlExport({ environment, stem, source, columns }: ExportedEnvironment): ExportedFiles {
	const { name } = environment;
	const rows = columns === null ? 'PUT_YOUR_ROWS_HERE.jsonl' : 'rows.jsonl';
	const script = `"""${generatedBy(source)}

Trains on the environment with TRL: python train.py MODEL [STEPS]
"""

import sys
from pathlib import Path

from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer

from ${environmentModule(stem)} import ${name}

ROWS = Path(__file__).with_name("${rows}")


def conversational(row: dict) -> dict:
    """Tools need prompts that are lists of messages."""
    prompt = row["prompt"]
    return {"prompt": [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt}


def main(model: str, steps: int) -> None:
    trainer = GRPOTrainer(
        model=model,
        args=GRPOConfig(
            output_dir=str(Path(__file__).with_name("output")),
            max_steps=steps,
            num_generations=8,
            per_device_train_batch_size=8,
            # Covers the whole conversation, including tool results.
            max_completion_length=1024,
            max_tool_calling_iterations=8,
            report_to="none",
        ),
        train_dataset=load_dataset("json", data_files=str(ROWS), split="train").map(conversational),
        environment_factory=${name},
    )
    trainer.train()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100)
`;
	return new Map([
		['train.py', script],
		['requirements.txt', 'trl>=1.13\ndatasets\n'],
	]);
}
