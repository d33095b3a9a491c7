"""Writes test/fixtures/golden/trl.json: results of TRL's own code on small random batches.

The methods are extracted from TRL's source and run on a stand-in trainer, so no model, tokenizer or dataset is
needed.

Usage: pip install torch; python3 test/golden/makeTrlGolden.py path/to/trl-1.13.0/trl/trainer [COUNT FILE]

COUNT is the number of batches of every objective and every correction (the committed file has 2 to 12 of each), and FILE
the file to write.
"""

import ast
import json
import math
import pathlib
import random
import sys
import textwrap
import types
from collections import defaultdict

import torch

trainer_folder = pathlib.Path(sys.argv[1])
count = int(sys.argv[2]) if len(sys.argv) > 2 else None


def batches(kinds, each, share=1):
    """Returns the number of batches for some kinds: COUNT divided by `share` for each, or `each` without COUNT."""
    return len(kinds) * (each if count is None else math.ceil(count / share))


path = pathlib.Path(sys.argv[3] if len(sys.argv) > 3 else pathlib.Path(__file__).parent / "../fixtures/golden/trl.json")
trainer_source = (trainer_folder / "grpo_trainer.py").read_text()
utils_source = (trainer_folder / "utils.py").read_text()


def take(source, name):
    """Returns the source of a function or method, without its decorators."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return textwrap.dedent("\n".join(source.split("\n")[node.lineno - 1 : node.end_lineno]))
    raise KeyError(name)


space = {"torch": torch, "math": math}
for name in ["nanstd", "nanmin", "nanmax"]:
    exec(take(utils_source, name), space)
for name in ["_compute_loss", "get_gamma_weights", "get_off_policy_mask", "get_high_entropy_mask"]:
    exec(take(trainer_source, name), space)
experimental = trainer_folder.parent / "experimental"
tokens_space, gmpo_space = dict(space), dict(space)
exec(take((experimental / "gspo_token" / "grpo_trainer.py").read_text(), "_compute_loss"), tokens_space)
exec(take((experimental / "gmpo" / "gmpo_trainer.py").read_text(), "_compute_loss"), gmpo_space)

KINDS = [
    {"lossType": "cispo", "epsilonHigh": 1.3},
    {"lossType": "cispo", "epsilonHigh": 5.0, "level": "sequence"},
    {"lossType": "sapo"},
    {"lossType": "sapo", "level": "sequence"},
    {"lossType": "luspo", "level": "sequence"},
    {"lossType": "vespo"},
    {"lossType": "gmpo", "epsilonLow": 0.4, "epsilonHigh": 0.4},
    {"level": "sequence", "unbiasedKl": True, "epsilonLow": 0.05, "epsilonHigh": 0.08},
    {"level": "sequence_token", "epsilonLow": 0.05, "epsilonHigh": 0.08},
    {"lossType": "dapo", "delta": 1.1, "offPolicyThreshold": 0.05},
    {"lossType": "dr_grpo", "unbiasedKl": True, "offPolicyThreshold": 0.0},
]

ADAPTIVE = {"target": 0.9, "delta": 0.25, "lowest": 0.1, "highest": 0.6}
SELECTION_KINDS = [
    {"lossType": "grpo", "topEntropy": 0.2},
    {"lossType": "dapo", "topEntropy": 0.5, "bonus": {"adaptive": None}},
    {"lossType": "bnpo", "topEntropy": 0.3, "bonus": {"adaptive": ADAPTIVE}},
    {"lossType": "dr_grpo", "bonus": {"adaptive": None}},
    {"lossType": "cispo", "level": "sequence", "epsilonHigh": 1.05, "topEntropy": 0.6, "bonus": {"adaptive": ADAPTIVE}},
    {"lossType": "sapo", "topEntropy": 0.4},
    {"lossType": "vespo", "topEntropy": 0.5, "bonus": {"adaptive": ADAPTIVE}},
    {"lossType": "luspo", "level": "sequence", "topEntropy": 0.5, "bonus": {"adaptive": ADAPTIVE}},
    {"level": "sequence", "topEntropy": 0.5, "offPolicyThreshold": 0.05, "epsilonLow": 0.05, "epsilonHigh": 0.08},
    {"lossType": "dapo", "topEntropy": 0.5, "samplerCorrection": {"mode": "token_mask", "min": 0.5, "max": 5.0}},
]

# These two lines delimit the part of _generate_and_score_completions that turns rewards into advantages and metrics.
body = take(trainer_source, "_generate_and_score_completions").split("\n")
first = next(i for i, line in enumerate(body) if "unscorable_mask = torch.isnan(rewards_per_func)" in line)
last = next(i for i, line in enumerate(body) if '["frac_reward_zero_std"]' in line)
part = textwrap.dedent("\n".join(body[first : last + 1]))
exec(
    "def advantages_of(self, rewards_per_func, num_generations, prompts, mode, device):\n"
    + textwrap.indent(part, "    ")
    + "\n    return all_process_advantages\n",
    space,
)

# The block that corrects for the policy that sampled.
first = next(i for i, line in enumerate(body) if "# Compute the importance sampling ratio when using vLLM" in line) + 2
last = next(i for i, line in enumerate(body) if "Unknown vLLM importance sampling level" in line) + 1
exec(
    "def correction_of(self, old_per_token_logps, sampling_per_token_logps, completion_mask, tool_mask):\n"
    + textwrap.indent(textwrap.dedent("\n".join(body[first : last + 1])), "    ")
    + "\n    return vllm_importance_sampling_ratio\n",
    space,
)

accelerator = types.SimpleNamespace(
    num_processes=1,
    process_index=0,
    gather=lambda x: x.reshape(-1) if x.dim() == 0 else x,
    reduce=lambda x, reduction: x,
    pad_across_processes=lambda x, **_: x,
    sync_gradients=True,
)


def trainer(**settings):
    stand_in = types.SimpleNamespace(
        accelerator=accelerator,
        _metrics={"train": defaultdict(list)},
        model=types.SimpleNamespace(training=True),
        top_entropy_quantile=1.0,
        off_policy_mask_threshold=None,
        importance_sampling_level="token",
        use_vllm=False,
        aux_loss_enabled=False,
        _entropy_bonus_enabled=False,
        current_gradient_accumulation_steps=1,
        multi_objective_aggregation="sum_then_normalize",
    )
    for key, value in settings.items():
        setattr(stand_in, key, value)
    return stand_in


def metrics_of(stand_in):
    values = {key: value[-1] for key, value in stand_in._metrics["train"].items()}
    return {key: None if math.isnan(value) else value for key, value in values.items()}


def advantage_cases(rng):
    for index in range(40 if count is None else 3 * count):
        groups, size = rng.choice([1, 2, 4]), rng.choice([2, 4, 8])
        names = ["accuracy", "format", "brevity"][: rng.choice([1, 2, 3])]
        weights = [rng.choice([1.0, 0.2, -0.5, 2.0]) for _ in names]
        scale = ["group", "batch", "none"][index % 3]
        rows = []
        for _ in range(groups):
            dead = rng.random() < 0.2
            same = [rng.choice([0.0, 1.0, 0.25]) for _ in names]
            for _ in range(size):
                drawn = [rng.choice([0.0, 1.0, round(rng.random(), 3), None]) for _ in names]
                rows.append(same if dead else drawn)
        stand_in = trainer(
            scale_rewards=scale,
            reward_weights=torch.tensor(weights, dtype=torch.float64),
            reward_funcs=names,
            reward_func_names=names,
        )
        tensor = torch.tensor([[math.nan if v is None else v for v in row] for row in rows], dtype=torch.float64)
        values = space["advantages_of"](stand_in, tensor, size, [None] * len(rows), "train", "cpu")
        yield {
            "scale": scale,
            "size": size,
            "names": names,
            "weights": weights,
            "rewards": rows,
            "advantages": values.tolist(),
            "metrics": metrics_of(stand_in),
        }


def loss_cases(rng):
    for index in range(48 if count is None else 4 * count):
        rows = rng.choice([1, 3, 6])
        longest = rng.choice([4, 7])
        lengths = [rng.randint(1, longest) for _ in range(rows)]
        masked = [rng.random() < 0.25 for _ in range(rows)]
        parts = rng.choice([1, 2])
        other_tokens = rng.randint(1, 30) if parts > 1 else 0
        beta = rng.choice([0.0, 0.04])
        on_policy = rng.random() < 0.3
        settings = {
            "lossType": ["grpo", "bnpo", "dr_grpo", "dapo"][index % 4],
            "beta": beta,
            "epsilonLow": 0.2,
            "epsilonHigh": rng.choice([0.2, 0.28]),
            "maxCompletionLength": longest + rng.randint(0, 3),
            "stepsPerGeneration": parts,
        }
        # TRL takes tensors with one column for per-sequence values.
        pad = max(2, *lengths)

        def table(make):
            return torch.tensor([[make() if t < n else 0.0 for t in range(pad)] for n in lengths], dtype=torch.float64)

        logprobs = table(lambda: -rng.random() * 3).requires_grad_()
        old = None if on_policy else logprobs.detach() + table(lambda: rng.gauss(0, 0.3))
        ref = logprobs.detach() + table(lambda: rng.gauss(0, 0.5))
        entropies = table(lambda: rng.random() * 2)
        mask = torch.tensor([[int(t < n and not m) for t in range(pad)] for n, m in zip(lengths, masked)])
        advantages = torch.tensor([rng.choice([0.0, rng.gauss(0, 1)]) for _ in range(rows)], dtype=torch.float64)
        stand_in = trainer(
            beta=beta,
            epsilon_low=settings["epsilonLow"],
            epsilon_high=settings["epsilonHigh"],
            loss_type=settings["lossType"],
            max_completion_length=settings["maxCompletionLength"],
            args=types.SimpleNamespace(delta=None, use_bias_correction_kl=False, steps_per_generation=parts),
        )
        stand_in._get_per_token_logps_and_entropies = lambda *a, **k: (logprobs, entropies, None)
        tokens = int(mask.sum()) + other_tokens
        inputs = {
            "prompt_ids": torch.zeros(rows, 1),
            "prompt_mask": torch.ones(rows, 1),
            "completion_ids": torch.zeros(rows, pad),
            "completion_mask": mask,
            "advantages": advantages,
            "num_items_in_batch": torch.tensor(tokens),
            "ref_per_token_logps": ref,
        }
        if old is not None:
            inputs["old_per_token_logps"] = old
        loss = space["_compute_loss"](stand_in, None, inputs)
        loss.backward()

        def cut(values):
            return [row[:n] for row, n in zip(values.tolist(), lengths)]

        yield {
            "settings": settings,
            "generationTokens": tokens,
            "rows": [
                {
                    "masked": masked[i],
                    "advantage": advantages[i].item(),
                    "logprobs": cut(logprobs.detach())[i],
                    "oldLogprobs": None if old is None else cut(old)[i],
                    "refLogprobs": cut(ref)[i],
                    "entropies": cut(entropies)[i],
                    "gradient": cut(logprobs.grad)[i],
                }
                for i in range(rows)
            ],
            "loss": loss.item(),
            "metrics": metrics_of(stand_in),
        }

def prepare_bonus(stand_in, bonus, rng):
    """Puts the entropy bonus of a trainer into a random state, and returns that state."""
    adaptive = bonus["adaptive"]
    stand_in._entropy_bonus_enabled = True
    stand_in.use_adaptive_entropy = adaptive is not None
    stand_in.entropy_coef = rng.choice([0.1, 0.3, 0.6])
    entropy = rng.choice([None, 0.5, 1.5]) if adaptive else None
    stand_in._last_world_entropy = math.inf if entropy is None else entropy
    stand_in._entropy_window_stats = None
    for key, value in zip(["target", "coef_delta", "coef_min", "coef_max"], (adaptive or {}).values()):
        setattr(stand_in.args, f"entropy_{key}", value)
    return {"coefficient": stand_in.entropy_coef, "entropy": entropy}


def objective_cases(rng, number, kinds=KINDS, episodes=False):
    """Losses other than GRPO's clipped token ratios. In episodes, some tokens come from an environment (`tool_mask`)."""
    space_of = {"sequence_token": tokens_space, "gmpo": gmpo_space}
    for index in range(number):
        kind = kinds[index % len(kinds)]
        rows = rng.choice([1, 3, 6])
        longest = rng.choice([2, 4, 7])
        # TRL takes tensors with one column for per-sequence values.
        lengths = [longest, *(rng.randint(1, longest) for _ in range(rows - 1))]
        masked = [rng.random() < 0.2 for _ in range(rows)]
        parts = rng.choice([1, 2])
        beta = rng.choice([0.0, 0.04])
        settings = {
            "lossType": "grpo",
            "level": "token",
            "beta": beta,
            "epsilonLow": 0.2,
            "epsilonHigh": rng.choice([0.2, 0.28]),
            "delta": None,
            "unbiasedKl": False,
            "offPolicyThreshold": None,
            "sapo": {"positive": rng.choice([1.0, 2.0]), "negative": rng.choice([1.05, 3.0])},
            "vespo": {"kPositive": 2.0, "lambdaPositive": 3.0, "kNegative": rng.choice([3.0, 1.5]), "lambdaNegative": 2.0},
            "maxCompletionLength": longest + 1,
            "stepsPerGeneration": parts,
            **kind,
        }
        pad = max(lengths)

        def table(make):
            return torch.tensor([[make() if t < n else 0.0 for t in range(pad)] for n in lengths], dtype=torch.float64)

        logprobs = table(lambda: -rng.random() * 3).requires_grad_()
        old = None if rng.random() < 0.15 else logprobs.detach() + table(lambda: rng.gauss(0, 0.4))
        ref = logprobs.detach() + table(lambda: rng.gauss(0, 0.5))
        entropies = table(lambda: rng.random() * 2)
        mask = torch.tensor([[int(t < n and not m) for t in range(pad)] for n, m in zip(lengths, masked)])
        # The first token of a completion is always the policy's.
        trained = torch.tensor([[int(not episodes or t == 0 or rng.random() < 0.5) for t in range(pad)] for _ in lengths])
        advantages = torch.tensor([rng.choice([0.0, rng.gauss(0, 1)]) for _ in range(rows)], dtype=torch.float64)
        stand_in = trainer(
            beta=beta,
            epsilon_low=settings["epsilonLow"],
            epsilon_high=settings["epsilonHigh"],
            loss_type=settings["lossType"],
            importance_sampling_level=settings["level"],
            off_policy_mask_threshold=settings["offPolicyThreshold"],
            max_completion_length=settings["maxCompletionLength"],
            get_gamma_weights=torch.no_grad()(space["get_gamma_weights"]),
            get_off_policy_mask=space["get_off_policy_mask"],
            args=types.SimpleNamespace(
                delta=settings["delta"],
                use_bias_correction_kl=settings["unbiasedKl"],
                steps_per_generation=parts,
                sapo_temperature_pos=settings["sapo"]["positive"],
                sapo_temperature_neg=settings["sapo"]["negative"],
                vespo_k_pos=settings["vespo"]["kPositive"],
                vespo_lambda_pos=settings["vespo"]["lambdaPositive"],
                vespo_k_neg=settings["vespo"]["kNegative"],
                vespo_lambda_neg=settings["vespo"]["lambdaNegative"],
            ),
        )
        stand_in._get_per_token_logps_and_entropies = lambda *a, **k: (logprobs, entropies, None)
        tokens = int((mask * trained).sum()) + (rng.randint(1, 30) if parts > 1 else 0)
        inputs = {
            "prompt_ids": torch.zeros(rows, 1),
            "prompt_mask": torch.ones(rows, 1),
            "completion_ids": torch.zeros(rows, pad),
            "completion_mask": mask,
            "advantages": advantages,
            "num_items_in_batch": torch.tensor(tokens),
            "ref_per_token_logps": ref,
        }
        if old is not None:
            inputs["old_per_token_logps"] = old
        if episodes:
            inputs["tool_mask"] = trained
        if "topEntropy" in settings:
            # TRL compares entropies in single precision, which real entropies also have.
            entropies = entropies.float().double()
            stand_in.get_high_entropy_mask = types.MethodType(space["get_high_entropy_mask"], stand_in)
            stand_in.top_entropy_quantile = settings["topEntropy"]
        bonus = settings.get("bonus")
        if bonus:
            entropies.requires_grad_()
            before = prepare_bonus(stand_in, bonus, rng)
        correction = settings.get("samplerCorrection")
        if correction:
            sampling = (logprobs.detach() if old is None else old) + table(lambda: rng.gauss(0, 0.5))
            stand_in.use_vllm = True
            stand_in.vllm_importance_sampling_correction = True
            stand_in.vllm_importance_sampling_mode = correction["mode"]
            stand_in.vllm_importance_sampling_clip_min = correction["min"]
            stand_in.vllm_importance_sampling_clip_max = correction["max"]
            # With vLLM, TRL always computes the old log-probabilities.
            inputs["old_per_token_logps"] = logprobs.detach() if old is None else old
            inputs["sampling_per_token_logps"] = sampling
            inputs["importance_sampling_ratio"] = space["correction_of"](
                stand_in, inputs["old_per_token_logps"], sampling, mask, trained if episodes else None
            )
        compute = space_of.get(settings["level"], space_of.get(settings["lossType"], space))["_compute_loss"]
        loss = compute(stand_in, None, inputs)
        loss.backward()

        def cut(values):
            return [row[:n] for row, n in zip(values.tolist(), lengths)]

        yield {
            "settings": settings,
            "generationTokens": tokens,
            "rows": [
                {
                    "masked": masked[i],
                    "advantage": advantages[i].item(),
                    "logprobs": cut(logprobs.detach())[i],
                    "oldLogprobs": None if old is None else cut(old)[i],
                    "refLogprobs": cut(ref)[i],
                    "entropies": cut(entropies.detach())[i],
                    "gradient": cut(logprobs.grad)[i],
                    **({"trained": cut(trained)[i]} if episodes else {}),
                    **({"samplerLogprobs": cut(sampling)[i]} if correction else {}),
                    **({"entropyGradient": cut(entropies.grad)[i]} if bonus else {}),
                }
                for i in range(rows)
            ],
            **({"bonus": {**before, "after": stand_in.entropy_coef}} if bonus else {}),
            "loss": loss.item(),
            "metrics": metrics_of(stand_in),
        }


CORRECTIONS = [
    {"mode": "token_truncate", "min": None, "max": 2.0},
    {"mode": "token_truncate", "min": 0.8, "max": 1.2},
    {"mode": "token_mask", "min": 0.5, "max": 5.0},
    {"mode": "token_mask", "min": 0.8, "max": None},
    {"mode": "sequence_truncate", "min": None, "max": 1.3},
    {"mode": "sequence_mask", "min": None, "max": 3.0},
    {"mode": "sequence_mask", "min": 0.7, "max": 1.5},
]
CORRECTED = [
    {"lossType": "dapo"},
    {"lossType": "grpo", "offPolicyThreshold": 0.05},
    {"lossType": "bnpo", "level": "sequence", "epsilonLow": 0.05, "epsilonHigh": 0.08},
    {"lossType": "cispo", "epsilonHigh": 1.3},
    {"lossType": "sapo"},
    {"lossType": "dr_grpo", "delta": 1.1},
    {"level": "sequence_token", "epsilonLow": 0.05, "epsilonHigh": 0.08},
]
CORRECTION_KINDS = [
    *({**kind, "samplerCorrection": correction} for kind in CORRECTED for correction in CORRECTIONS),
    # TRL adds the ratios of completions to VESPO's for each token.
    *({"lossType": "vespo", "samplerCorrection": correction} for correction in CORRECTIONS[:4]),
]
EPISODE_KINDS = [*({"lossType": name} for name in ["grpo", "bnpo", "dr_grpo", "dapo"]), *KINDS]

rng = random.Random(1)
corrections = batches(CORRECTION_KINDS, 1, len(CORRECTED))
golden = {
    "advantages": list(advantage_cases(rng)),
    "losses": list(loss_cases(rng)),
    "objectives": list(objective_cases(random.Random(2), batches(KINDS, 4))),
    "corrections": [
        *objective_cases(random.Random(4), corrections, CORRECTION_KINDS),
        *objective_cases(random.Random(5), corrections // 2, CORRECTION_KINDS[::2], episodes=True),
    ],
    "episodes": list(objective_cases(random.Random(3), batches(EPISODE_KINDS, 2), EPISODE_KINDS, episodes=True)),
    "selections": [
        *objective_cases(random.Random(6), batches(SELECTION_KINDS, 4), SELECTION_KINDS),
        *objective_cases(random.Random(7), batches(SELECTION_KINDS, 1), SELECTION_KINDS, episodes=True),
    ],
}
parts = [f'"{key}": [\n' + ",\n".join(json.dumps(case) for case in cases) + "\n]" for key, cases in golden.items()]
path.write_text('{"source": "TRL 1.13.0, trl/trainer/grpo_trainer.py",\n' + ",\n".join(parts) + "}\n")
