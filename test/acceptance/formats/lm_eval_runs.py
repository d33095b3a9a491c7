"""Runs an evaluation with lm-evaluation-harness and prints the mean scores that it reports.

python lm_eval_runs.py FOLDER
"""

import json
import subprocess
import sys
from pathlib import Path

from said import run, say

folder = Path(sys.argv[1])
script = Path(__file__).parents[2] / "scripts/fixtures/lm_eval_samples.py"
subprocess.run([sys.executable, str(script), str(folder)], check=True, timeout=600)
[results] = folder.rglob("results_*.json")
means = json.loads(results.read_text())["results"]
counts = json.loads(results.read_text())["n-samples"]
rollouts = []
for task, metric in (("sums", "exact_match,strict"), ("colors", "acc,none")):
    count = counts[task]["effective"]
    # The reward of each sample is not in the results; only their mean is compared.
    rollouts += [(None, f"{task} {i}", None, means[task][metric]) for i in range(count)]
say(["lm_eval"], [run("lm-evaluation-harness", results.parent, "lm-eval", rollouts)])
