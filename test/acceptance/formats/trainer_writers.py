"""Runs the code with which verl, OpenRLHF, SkyRL, ART and the Tinker cookbook write their files.

python trainer_writers.py FOLDER

Their training needs GPUs. Functions are taken from the installed releases; modules that they import but do not need here
are replaced by empty ones.
"""

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
import types
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from said import run, say
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

folder = Path(sys.argv[1])
PROMPTS = ["What is 1 + 1?", "What is 2 + 2?"]


def rows(step):
    """Four rollouts in two groups: group, prompt, completion, reward."""
    return [(i // 2, PROMPTS[i // 2], f"It is {step + i}.", (step + i) / 4) for i in range(4)]


def functions(module, *names):
    """Returns functions of a module, or of classes in it, without importing the module."""
    spec = importlib.util.find_spec(module.split(".")[0])
    path = Path(spec.submodule_search_locations[0]).joinpath(*module.split(".")[1:]).with_suffix(".py")
    found = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef) and node.name in names]
    for node in found:
        node.decorator_list = []
        node.returns = None
        for argument in [*node.args.args, *node.args.kwonlyargs]:
            argument.annotation = None
    space = {"os": os, "json": json, "np": np, "Path": Path, "logger": SimpleNamespace(info=lambda *_: None)}
    exec(compile(ast.Module(found, []), str(path), "exec"), space)
    return [space[name] for name in names]


class Stub(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Packages that the writers' modules import for other purposes."""

    names = ("chz", "tinker", "wandb", "swanlab", "neptune", "trackio", "blobfile", "rich", "pandas", "termcolor")

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in self.names:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return Stub(spec.name)

    def exec_module(self, module):
        pass


def module_of(name):
    """Imports a single file of a package, without the package's own __init__."""
    parts = name.split(".")
    spec = importlib.util.find_spec(parts[0])
    path = Path(spec.submodule_search_locations[0]).joinpath(*parts[1:]).with_suffix(".py")
    spec = importlib.util.spec_from_file_location(name.replace(".", "_"), path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def with_verl():
    [write] = functions("verl.trainer.ppo.ray_trainer", "_write_generations")
    os.environ["VERL_FILE_LOGGER_ROOT"] = str(folder / "verl")
    tracking = module_of("verl.utils.tracking")
    logger = tracking.FileLogger("project", "sums")
    rollouts, logged = [], []
    for step in (1, 2):
        made = rows(step)
        write(
            [prompt for _, prompt, _, _ in made],
            [completion for _, _, completion, _ in made],
            ["2"] * 4,
            [reward for *_, reward in made],
            {"acc": [True] * 4},
            str(folder / "verl" / "rollouts"),
            step,
        )
        rollouts += [(step, group, completion, reward) for group, _, completion, reward in made]
        values = {"critic/score/mean": step / 4, "actor/grad_norm": np.float32(0.5)}
        logger.log(values, step)
        logged += [(step, name, float(value)) for name, value in values.items()]
    logger.finish()
    return run("verl, writers", folder / "verl", "verl", rollouts, metrics=logged)


def with_openrlhf():
    utils = module_of("openrlhf.utils.logging_utils")
    path = folder / "openrlhf"
    args = SimpleNamespace(logger=SimpleNamespace(tensorboard_dir=str(path), wandb=SimpleNamespace(run_name="run")))
    logger = utils.TensorboardLogger(args)
    rollouts = []
    for step in (1, 2):
        logger.log_train(step, {"policy_loss": step / 8, "reward": step / 4, "generated_samples": ("1 + 1 = 2", step / 4)})
        rollouts.append((step, 0, None, step / 4))
    logger.close()
    events = EventAccumulator(str(path / "run"))
    events.Reload()
    logged = [(event.step, tag, event.value) for tag in events.Tags()["scalars"] for event in events.Scalars(tag)]
    return run("OpenRLHF, logger", path / "run", "openrlhf", rollouts, metrics=logged)


def with_skyrl():
    dump, sanitize = functions("skyrl.train.utils.trainer_utils", "dump_per_dataset_eval_results", "sanitize_data_source")
    dump.__globals__["sanitize_data_source"] = sanitize
    tokenizer = SimpleNamespace(decode=lambda text: text)
    rollouts = []
    for step in (5, 10):
        path = folder / "skyrl" / "dumped_evals" / f"global_step_{step}_evals"
        path.mkdir(parents=True)
        made = rows(step)
        dump(
            path,
            tokenizer,
            {
                "prompt_token_ids": [prompt for _, prompt, _, _ in made],
                "response_ids": [completion for _, _, completion, _ in made],
                "rewards": [reward for *_, reward in made],
                "stop_reasons": ["stop"] * 4,
            },
            ["sums/a"] * 4,
            ["math"] * 4,
            [{}] * 4,
            {"eval/sums/avg_score": step / 4},
        )
        rollouts += [(step, group, completion, reward) for group, _, completion, reward in made]
    return run("SkyRL, evaluation dumps", folder / "skyrl", "skyrl", rollouts)


def with_art():
    [write, flatten] = functions("art.utils.trajectory_logging", "write_trajectory_groups_parquet", "_flatten_message")

    class Trajectory(SimpleNamespace):
        pass

    write.__globals__.update(_flatten_message=flatten, Trajectory=Trajectory, Choice=type("Choice", (), {}), Choices=type("Choices", (), {}))
    rollouts = []
    path = folder / "art" / ".art" / "project" / "models" / "agent" / "trajectories" / "train"
    path.mkdir(parents=True)
    for step in (0, 1):
        made = rows(step)
        groups = []
        for group in (0, 1):
            own = [
                Trajectory(
                    messages_and_choices=[
                        {"role": "user", "content": prompt},
                        {"finish_reason": "stop", "message": {"role": "assistant", "content": completion}},
                    ],
                    reward=reward,
                    metrics={"correct": True},
                    metadata={},
                    tools=None,
                    logs=[],
                )
                for number, prompt, completion, reward in made
                if number == group
            ]
            groups.append(SimpleNamespace(metadata={}, metrics={}, logs=[], trajectories=own))
        write(groups, path / f"{step:04d}.parquet")
        rollouts += [(step, group, completion, reward) for group, _, completion, reward in made]
    return run("ART, trajectory logging", path.parents[1], "art", rollouts)


def with_tinker():
    """Rollout summaries are built by the training loop, which needs its service; metrics are written by its logger."""
    from tinker_cookbook.stores.training_store import TrainingRunStore
    from tinker_cookbook.stores.storage import storage_from_uri
    from tinker_cookbook.utils.ml_log import JsonLogger

    path = folder / "tinker"
    path.mkdir()
    store = TrainingRunStore(storage_from_uri(str(path)))
    logger = JsonLogger(path, store)
    logged = []
    for step in (0, 1):
        values = {"progress/batch": step, "env/all/reward/total": step / 4, "optim/lr": 1e-4}
        logger.log_metrics(values, step=step)
        logged += [(step, name, value) for name, value in values.items()]
    (path / "checkpoints.jsonl").write_text(json.dumps({"name": "final", "batch": 2, "state_path": "tinker://x"}) + "\n")
    (path / "config.json").write_text("{}")
    return run("Tinker cookbook, metrics", path, "tinker", metrics=logged)


sys.meta_path.append(Stubs())
say(
    ["verl", "openrlhf", "skyrl", "openpipe-art", "tinker-cookbook"],
    [with_verl(), with_openrlhf(), with_skyrl(), with_art(), with_tinker()],
)
