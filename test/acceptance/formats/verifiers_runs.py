"""An evaluation by vf-eval with a scripted server, and the output of verifiers' own classes.

python verifiers_runs.py FOLDER
"""

import json
import subprocess
import sys
from pathlib import Path

from said import run, say
from verifiers.v1.trace import Trace

folder = Path(sys.argv[1])
script = Path(__file__).parents[2] / "scripts/fixtures/verifiers_eval.py"
subprocess.run([sys.executable, str(script), str(folder)], check=True, timeout=600)
[path] = folder.rglob("traces.jsonl")
rollouts = []
for line in path.read_text().splitlines():
    for entry in json.loads(line)["traces"]:
        trace = Trace.model_validate(entry)
        scored = any(reward is not None for reward in trace.rewards.values())
        rollouts.append((None, trace.task.key or trace.task.data.prompt, trace.last_reply, trace.reward if scored else None))
say(["verifiers"], [run("verifiers, vf-eval", path.parent, "verifiers", rollouts)])
