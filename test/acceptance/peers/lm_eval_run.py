"""Runs lm-eval's local-completions on a multiple-choice task and a generation task. Prints one JSON object.

python lm_eval_run.py MODEL TOKENIZER_JSON FOLDER [text]

`text`: send prompts as text instead of token ids.
"""

import json
import os
import pathlib
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
import lm_eval  # noqa: E402
from openai import OpenAI  # noqa: E402
from lm_eval.tasks import TaskManager  # noqa: E402
from transformers import PreTrainedTokenizerFast  # noqa: E402

model, tokenizer_json, folder = sys.argv[1:4]
as_text = sys.argv[4:] == ["text"]
folder = pathlib.Path(folder)
PreTrainedTokenizerFast(
    tokenizer_file=tokenizer_json, bos_token="<bos>", eos_token="<eos>", pad_token="<pad>"
).save_pretrained(folder / "tokenizer")

client = OpenAI(max_retries=0)
rows = []
for a in range(1, 9):
    # One of the choices is the model's own output, which lm-eval must recognize as greedy.
    own = client.completions.create(model=model, prompt=f"{a}+1=", max_tokens=24, temperature=0).choices[0]
    rows.append(
        {
            "question": f"{a}+1=",
            "choices": [f"<answer>{a + 1}</answer>", f"<answer>{a}</answer>", f"<answer>{a + 2}0</answer>", own.text],
            "answer": 0,
            "text": str(a + 1),
        }
    )
(folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
tasks = folder / "tasks"
tasks.mkdir(exist_ok=True)
head = f"dataset_path: json\ndataset_kwargs:\n  data_files:\n    test: {folder / 'rows.jsonl'}\ntest_split: test\n"
(tasks / "choice.yaml").write_text(
    f"task: lab_choice\n{head}output_type: multiple_choice\ndoc_to_text: '{{{{question}}}}'\n"
    "doc_to_target: answer\ndoc_to_choice: choices\ntarget_delimiter: ''\nmetric_list:\n  - metric: acc\n"
)
(tasks / "generate.yaml").write_text(
    f"task: lab_generate\n{head}output_type: generate_until\ndoc_to_text: '{{{{question}}}}'\n"
    "doc_to_target: '{{text}}'\ngeneration_kwargs:\n  until: ['</answer>']\n  max_gen_toks: 24\n"
    "filter_list:\n  - name: answer\n    filter:\n      - function: regex\n        regex_pattern: '<answer>(\\d+)'\n"
    "      - function: take_first\nmetric_list:\n  - metric: exact_match\n"
)
arguments = {
    "model": model,
    "base_url": os.environ["OPENAI_BASE_URL"] + "/completions",
    "tokenizer": str(folder / "tokenizer"),
    "tokenized_requests": not as_text,
    "num_concurrent": 4,
    "max_retries": 1,
    "max_length": 60,
}
results = lm_eval.simple_evaluate(
    model="local-completions",
    model_args=arguments,
    tasks=["lab_choice", "lab_generate"],
    task_manager=TaskManager(include_path=str(tasks), include_defaults=False),
    bootstrap_iters=0,
    log_samples=True,
)
choice = results["samples"]["lab_choice"]
json.dump(
    {
        "choice": results["results"]["lab_choice"]["acc,none"],
        "generate": results["results"]["lab_generate"]["exact_match,answer"],
        "rows": len(choice),
        # Log-likelihood of each choice, and whether it is the greedy output.
        "loglikelihoods": [[float(one[0]) for one in sample["filtered_resps"]] for sample in choice],
        "greedy": [[str(one[1]) == "True" for one in sample["filtered_resps"]] for sample in choice],
        "answers": [sample["resps"][0][0] for sample in results["samples"]["lab_generate"]],
        "own": [row["choices"][-1] for row in rows],
    },
    sys.stdout,
)
