"""A program's own report on a run that it wrote, to compare with what the importers read. Printed as one JSON line."""

import importlib.metadata
import json
import math


def number(value):
    """Non-finite numbers count as unknown."""
    return None if value is None or not math.isfinite(value) else float(value)


def numbers(rollouts):
    """Figures for rollouts: tuples of step, group, completion and reward. Completions of None are not compared."""
    rewards = [reward for _, _, _, reward in rollouts]
    known = [reward for reward in rewards if reward is not None]
    return {
        "rollouts": len(rollouts),
        "null_rewards": len(rewards) - len(known),
        "mean_reward": sum(known) / len(known) if known else None,
        "groups": len({(step, group) for step, group, _, _ in rollouts}),
        "steps": sorted({step for step, _, _, _ in rollouts if step is not None}),
        "samples": sorted([completion, reward] for _, _, completion, reward in rollouts if completion is not None),
    }


def run(name, folder, form, train=None, validation=None, metrics=None):
    return {
        "name": name,
        "folder": str(folder),
        "format": form,
        "train": None if train is None else numbers(train),
        "validation": None if validation is None else numbers(validation),
        "metrics": [[step, metric, number(value)] for step, metric, value in metrics or []],
    }


def say(programs, runs):
    versions = {program: importlib.metadata.version(program) for program in programs}
    print()
    print(json.dumps({"versions": versions, "runs": runs}))
