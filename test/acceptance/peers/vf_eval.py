"""Runs vf-eval on the taskset `adder_v1`, whose rewards come from an adapter, and prints what it recorded for each
rollout.

python vf_eval.py BASE_URL MODEL FOLDER ADAPTER
"""

import json
import os
import subprocess
import sys
from pathlib import Path

url, model, folder, adapter = sys.argv[1:5]
programs = Path(sys.executable).parent
here = Path(__file__).parent
env = {
    **os.environ,
    "EXPORTED_REWARDS": adapter,
    "PYTHONPATH": str(here),
    "PYTHONDONTWRITEBYTECODE": "1",
    "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
}
options = {
    "--client.base-url": url,
    "--client.api-key-var": "OPENAI_API_KEY",
    "--env.agent.harness.id": "null",
    "--env.agent.runtime.type": "subprocess",
    "--run.name": "run",
    "-o": folder,
    "-m": model,
    "-r": "2",
}
command = [str(programs / "vf-eval"), "adder-v1", "--no-push", *(part for pair in options.items() for part in pair)]
subprocess.run(command, env=env, check=True, stdout=sys.stderr, timeout=600)
episodes = [json.loads(line) for line in (Path(folder) / "run" / "traces.jsonl").read_text().splitlines()]
traces = [(episode, trace) for episode in episodes for trace in episode["traces"]]
print(
    json.dumps(
        sorted(
            (
                {
                    "task": trace["task"]["data"]["idx"],
                    "ok": episode["ok"],
                    "rewards": {name: one["score"] for name, one in trace["rewards"].items()},
                }
                for episode, trace in traces
            ),
            key=lambda one: one["task"],
        )
    )
)
