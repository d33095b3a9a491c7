"""Runs a small inspect-ai evaluation through its provider for OpenAI-compatible servers. Prints one JSON object."""

import json
import os
import sys

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.scorer import match
from inspect_ai.solver import generate, system_message

model, folder = sys.argv[1:3]
samples = [Sample(input="1+1=", target="2"), Sample(input="2+2=", target="4"), Sample(input="3+3=", target="7")]
task = Task(dataset=samples, solver=[system_message("Be brief."), generate()], scorer=match(numeric=True))
os.environ["LAB_BASE_URL"] = os.environ["OPENAI_BASE_URL"]
os.environ["LAB_API_KEY"] = os.environ["OPENAI_API_KEY"]
[log] = eval(task, model=f"openai-api/lab/{model}", log_dir=folder, display="none", epochs=2)
scores = [sample.scores["match"].value for sample in log.samples]
json.dump(
    {
        "status": log.status,
        "accuracy": log.results.scores[0].metrics["accuracy"].value,
        "scores": scores,
        "error": None if log.error is None else log.error.message,
        "output": log.samples[0].output.completion,
    },
    sys.stdout,
)
