"""Writes test/fixtures/golden/estimators.json: advantages and selected tokens from other programs' own code.

- GDPO: the part of TRL's GRPOTrainer that computes advantages
- pass@k: `calc_adv` by the authors of arXiv:2508.10751 for rewards of 0 and 1, and all sets of k completions for others
- MaxRL: `compute_maxrl_outcome_advantage` by the authors of arXiv:2602.02710
- tokens with high entropies: TRL's `get_high_entropy_mask`
- DPPO: verl's `compute_policy_loss_dppo_tv` and `compute_policy_loss_dppo_kl`
- KL-Cov: verl's `compute_policy_loss_kl_cov`
- Clip-Cov: verl's `compute_policy_loss_clip_cov`, of which the authors of MaxRL use a copy, excluding all tokens that qualify

Usage: pip install torch scipy; python3 test/golden/makeEstimatorGolden.py path/to/trl-1.13.0/trl/trainer
path/to/Passk_Training/code/passk_adv.py path/to/maxrl/verl/trainer/ppo/core_algos.py
path/to/verl/verl/trainer/ppo/core_algos.py [COUNT FILE]

COUNT is the number of cases of each kind (default: 24), and FILE the file to write.
"""

import ast
import importlib.util
import itertools
import json
import math
import pathlib
import random
import sys
import textwrap
import types
import typing
from collections import defaultdict

import numpy as np
import torch

trainer_folder = pathlib.Path(sys.argv[1])
found = importlib.util.spec_from_file_location("passk_adv", sys.argv[2])
passk = importlib.util.module_from_spec(found)
found.loader.exec_module(passk)
count = int(sys.argv[5]) if len(sys.argv) > 5 else 24
here = pathlib.Path(__file__).parent
path = pathlib.Path(sys.argv[6] if len(sys.argv) > 6 else here / "../fixtures/golden/estimators.json")
rng = random.Random(3)


def take(source, name):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return textwrap.dedent("\n".join(source.split("\n")[node.lineno - 1 : node.end_lineno]))
    raise KeyError(name)


space = {"torch": torch, "np": np, "math": math, "defaultdict": defaultdict}
exec(take((trainer_folder / "utils.py").read_text(), "nanstd"), space)
core_algos = pathlib.Path(sys.argv[3]).read_text()


def masked_mean(values, mask):
    return (values * mask).sum() / (mask.sum() + 1e-8)


space["verl_F"] = types.SimpleNamespace(masked_mean=masked_mean)
for name in ["compute_maxrl_outcome_advantage", "agg_loss", "compute_policy_loss_clip_cov"]:
    exec(take(core_algos, name), space)
exec(take((trainer_folder / "grpo_trainer.py").read_text(), "get_high_entropy_mask"), space)
body = take((trainer_folder / "grpo_trainer.py").read_text(), "_generate_and_score_completions").split("\n")
first = next(i for i, line in enumerate(body) if "unscorable_mask = torch.isnan(rewards_per_func)" in line)
last = next(i for i, line in enumerate(body) if "advantages = torch.nan_to_num(advantages" in line)
exec(
    "def advantages_of(self, rewards_per_func, num_generations, device):\n"
    + textwrap.indent(textwrap.dedent("\n".join(body[first : last + 1])), "    ")
    + "\n    return advantages\n",
    space,
)


def gdpo_case():
    size, groups, functions = rng.choice([2, 4, 8]), rng.choice([1, 2, 4]), rng.choice([1, 2, 3])
    rows = []
    for _ in range(groups):
        same = [rng.choice([0.0, 1.0]) for _ in range(functions)]
        dead = rng.random() < 0.2
        for _ in range(size):
            rows.append(same if dead else [rng.choice([0.0, 1.0, round(rng.random(), 3), None]) for _ in same])
    weights = [rng.choice([1.0, 0.2, -0.5, 2.0]) for _ in range(functions)]
    stand_in = types.SimpleNamespace(
        multi_objective_aggregation="normalize_then_sum",
        reward_weights=torch.tensor(weights, dtype=torch.float64),
        reward_funcs=[None] * functions,
        _metrics={"train": defaultdict(list)},
    )
    tensor = torch.tensor([[math.nan if v is None else v for v in row] for row in rows], dtype=torch.float64)
    values = space["advantages_of"](stand_in, tensor, size, "cpu")
    return {"rewards": rows, "weights": weights, "size": size, "advantages": values.tolist()}


def grouped_case(draw, advantages_of):
    """Returns several groups. Some have equal rewards, and some rows have no reward."""
    size, groups = rng.choice([2, 4, 8]), rng.choice([1, 2, 3])
    k = rng.randint(1, size)
    rewards, advantages = [], []
    for _ in range(groups):
        dead, same = rng.random() < 0.2, draw()
        own = [None if rng.random() < 0.1 else same if dead else draw() for _ in range(size)]
        known = [reward for reward in own if reward is not None]
        # The authors' code does not support rows without a reward. A row with nothing to compare with has no advantage.
        values = iter(advantages_of(known, min(k, len(known))) if len(set(known)) > 1 else [0.0] * len(known))
        rewards += own
        advantages += [0.0 if reward is None else next(values) for reward in own]
    return {"rewards": rewards, "size": size, "k": k, "advantages": advantages}


def passk_of_sets(rewards, k):
    sets = list(itertools.combinations(range(len(rewards)), k))
    best = np.array([max(rewards[i] for i in members) for members in sets])
    normal = (best - best.mean()) / (best.std() + 1e-6)
    return [float(np.mean([v for v, s in zip(normal, sets) if i in s])) for i in range(len(rewards))]


def passk_case(binary):
    if binary:
        return grouped_case(
            lambda: float(rng.random() < 0.4), lambda known, k: passk.calc_adv(np.array(known), k).tolist()
        )
    return grouped_case(lambda: rng.choice([0.0, 0.2, 1.2, round(rng.random(), 3)]), passk_of_sets)


def maxrl_of(rewards, _k):
    scores = torch.tensor(rewards, dtype=torch.float64).unsqueeze(1)
    mask, index = torch.ones(len(rewards), 1), np.zeros(len(rewards), dtype=int)
    values, _ = space["compute_maxrl_outcome_advantage"](scores, mask, index)
    return values.squeeze(1).tolist()


def maxrl_case():
    return grouped_case(lambda: rng.choice([0.0, 1.0, round(rng.random(), 3)]), maxrl_of)


def table(lengths, make):
    pad = max(lengths)
    return torch.tensor([[make() if t < n else 0.0 for t in range(pad)] for n in lengths], dtype=torch.float64)


def masked_rows(lengths, kept=1):
    """Returns which rows are masked: random ones, but never the first ones."""
    return [i >= kept and rng.random() < 0.25 for i in range(len(lengths))]


def mask_of(lengths, masked):
    return torch.tensor([[float(t < n and not gone) for t in range(max(lengths))] for n, gone in zip(lengths, masked)])


def drawn_advantages(lengths, deviation):
    """Returns one advantage per row, some of them 0, but not the first two."""
    values = [0.0 if i > 1 and rng.random() < 0.2 else rng.gauss(0, deviation) for i in range(len(lengths))]
    return torch.tensor(values, dtype=torch.float64)


def cut(values, lengths):
    return [row[:n] for row, n in zip(values.tolist(), lengths)]


def entropy_case():
    lengths = [rng.randint(1, 6) for _ in range(rng.randint(1, 4))]
    # TRL computes thresholds in single precision, which real entropies also have.
    entropies = table(lengths, lambda: rng.choice([rng.random() * 2, 0.5])).float()
    masked = masked_rows(lengths)
    mask = mask_of(lengths, masked)
    share = rng.choice([0.0, 0.2, 0.5, 1.0, rng.random()])
    accelerator = types.SimpleNamespace(pad_across_processes=lambda x, **_: x, gather=lambda x: x)
    chosen = space["get_high_entropy_mask"](types.SimpleNamespace(accelerator=accelerator), entropies, mask, 1 - share)
    return {
        "masked": masked,
        "entropies": cut(entropies, lengths),
        "share": share,
        "selected": cut(chosen.int(), lengths),
    }


def clip_cov_case():
    lengths = [rng.randint(1, 7) for _ in range(rng.randint(2, 5))]
    logprobs = table(lengths, lambda: -rng.random() * 4).requires_grad_()
    old = logprobs.detach() + table(lengths, lambda: rng.gauss(0, 0.3))
    # Use several advantages, because otherwise all covariances are 0 except for rounding.
    masked = masked_rows(lengths, 2)
    mask = mask_of(lengths, masked).double()
    advantages = drawn_advantages(lengths, 1.5)
    lowest, highest = rng.choice([(1.0, 5.0), (0.0, 2.0), (0.5, 100.0)])
    policy_loss = types.SimpleNamespace(clip_cov_ratio=1.0, clip_cov_lb=lowest, clip_cov_ub=highest)
    config = types.SimpleNamespace(policy_loss=policy_loss, clip_ratio=0.2, clip_ratio_low=0.2, clip_ratio_high=0.28)
    loss, *_ = space["compute_policy_loss_clip_cov"](
        old, logprobs, advantages.unsqueeze(1).expand_as(mask), mask, "token-mean", config
    )
    loss.backward()
    return {
        "masked": masked,
        "logprobs": cut(logprobs.detach(), lengths),
        "old": cut(old, lengths),
        "advantages": advantages.tolist(),
        "lowest": lowest,
        "highest": highest,
        "loss": loss.item(),
        "gradients": cut(logprobs.grad, lengths),
    }


class Config(types.SimpleNamespace):
    def get(self, name, default):
        return getattr(self, name, default)


verl_space = {"torch": torch, "Any": object, "Optional": typing.Optional, "verl_F": space["verl_F"]}
verl_space["DictConfig"] = verl_space["AlgoConfig"] = verl_space["ActorConfig"] = type("Other", (), {})
verl_space["agg_loss"] = lambda loss_mat, loss_mask, loss_agg_mode: masked_mean(loss_mat, loss_mask)
for name in ["compute_policy_loss_dppo_tv", "compute_policy_loss_dppo_kl", "compute_policy_loss_kl_cov"]:
    exec(take(pathlib.Path(sys.argv[4]).read_text(), name), verl_space)


def dppo_case(kind):
    lengths = [rng.randint(1, 7) for _ in range(rng.randint(1, 5))]
    logprobs = table(lengths, lambda: -rng.choice([rng.random() * 0.5, rng.random() * 5])).requires_grad_()
    old = (logprobs.detach() + table(lengths, lambda: rng.gauss(0, 0.8))).clamp(max=-1e-3)
    masked = masked_rows(lengths)
    mask = mask_of(lengths, masked).double()
    advantages = torch.tensor([rng.choice([0.0, rng.gauss(0, 1)]) for _ in lengths], dtype=torch.float64)
    low, high = rng.choice([(0.2, 0.28), (0.05, 0.1), (0.01, 0.02)])
    config = Config(clip_ratio=low, clip_ratio_low=low, clip_ratio_high=high, global_batch_info={})
    compute = verl_space[f"compute_policy_loss_{kind}"]
    loss, metrics = compute(old, logprobs, advantages.unsqueeze(1).expand_as(mask), mask, "token-mean", config)
    loss.backward()
    return {
        "kind": kind,
        "masked": masked,
        "logprobs": cut(logprobs.detach(), lengths),
        "old": cut(old, lengths),
        "advantages": advantages.tolist(),
        "low": low,
        "high": high,
        "loss": loss.item(),
        "gradients": cut(logprobs.grad, lengths),
        "leftOut": metrics["actor/pg_clipfrac"],
    }


def kl_cov_case():
    # Use several advantages, because otherwise all covariances are equal, and any token can be chosen.
    lengths = [rng.randint(1, 7) for _ in range(rng.randint(2, 5))]
    logprobs = table(lengths, lambda: -rng.random() * 4).requires_grad_()
    old = logprobs.detach() + table(lengths, lambda: rng.gauss(0, 0.3))
    masked = masked_rows(lengths, 2)
    mask = mask_of(lengths, masked).double()
    advantages = drawn_advantages(lengths, 1)
    share, coefficient = rng.choice([0.0002, 0.1, 0.5]), rng.choice([1.0, 0.3])
    config = Config(policy_loss=Config(kl_cov_ratio=share, ppo_kl_coef=coefficient), global_batch_info={})
    spread = advantages.unsqueeze(1).expand_as(mask)
    loss, *_ = verl_space["compute_policy_loss_kl_cov"](old, logprobs, spread, mask, "token-mean", config)
    loss.backward()
    return {
        "masked": masked,
        "logprobs": cut(logprobs.detach(), lengths),
        "old": cut(old, lengths),
        "advantages": advantages.tolist(),
        "share": share,
        "coefficient": coefficient,
        "loss": loss.item(),
        "gradients": cut(logprobs.grad, lengths),
    }


golden = {
    "gdpo": [gdpo_case() for _ in range(count)],
    "passAtK": [passk_case(i % 2 == 0) for i in range(count)],
    "maxrl": [maxrl_case() for _ in range(count)],
    "topEntropy": [entropy_case() for _ in range(count)],
    "clipCov": [clip_cov_case() for _ in range(count)],
    "dppo": [dppo_case(["dppo_tv", "dppo_kl"][i % 2]) for i in range(count)],
    "klCov": [kl_cov_case() for _ in range(count)],
}
parts = [f'"{key}": [\n' + ",\n".join(json.dumps(case) for case in cases) + "\n]" for key, cases in golden.items()]
path.write_text("{\n" + ",\n".join(parts) + "\n}\n")
