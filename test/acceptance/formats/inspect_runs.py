"""Evaluations with Inspect's mock model as .eval and as .json, and the output of Inspect's own reader.

python inspect_runs.py FOLDER
"""

import subprocess
import sys
from pathlib import Path

from inspect_ai.log import list_eval_logs, read_eval_log
from inspect_ai.scorer import value_to_float
from said import run, say

folder = Path(sys.argv[1])
script = Path(__file__).parents[2] / "scripts/fixtures/inspect_logs.py"
runs = []
for form in ("eval", "json"):
    path = folder / form
    subprocess.run([sys.executable, str(script), str(path), form], check=True, timeout=300)
    rollouts = []
    for found in list_eval_logs(str(path)):
        for sample in read_eval_log(found).samples:
            scores = list((sample.scores or {}).values())
            reward = value_to_float()(scores[0].value) if scores else None
            answers = [message for message in sample.messages if message.role == "assistant"]
            rollouts.append((None, sample.id, answers[-1].text if answers else "", reward))
    runs.append(run(f"Inspect, .{form}", path, "inspect", rollouts))
say(["inspect-ai"], runs)
