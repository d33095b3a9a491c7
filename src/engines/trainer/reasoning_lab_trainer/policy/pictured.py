"""Samples completions for held-out problems with pictures. Unlike `sampler.py`, this uses the model's own `generate`,
because each architecture combines text and pictures differently.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import torch
from transformers import GenerationConfig

from ..models.vision import with_picture
from ..trl.rewards import text_of_prompt
from .access import asked
from .sampler import ends_of

if TYPE_CHECKING:
    from ..course.context import Context


def evaluate_pictured(context: Context, order: dict[str, Any]) -> list[dict[str, Any]]:
    """Samples held-out problems, split across all ranks, and returns them by problem and sample. All ranks must call it
    together. Random numbers depend only on seed, step and problem, and training is not affected.
    """
    policy, world = context.policy, context.world
    processor, pictures = policy.processor, context.pictures
    assert processor is not None and pictures is not None
    problems = context.problems.held_out(order["problems"])
    own: list[dict[str, Any]] = []
    skipped = 0
    with asked(context) as model, torch.random.fork_rng():
        for place in range(world.rank, len(problems), world.size):
            problem = problems[place]
            messages = with_picture(policy.template.ask(problem["prompt"]), pictures.of_problem(problem, held_out=True))
            inputs = processor.apply_chat_template(
                [messages], add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
            ).to(next(model.parameters()).device)
            room = policy.context - inputs["input_ids"].shape[1]
            if room <= 0:
                skipped += 1
                continue
            stream = f"{context.recipe['seed']}/{order['name']}/{context.steps_done}/{place}"
            torch.manual_seed(int.from_bytes(hashlib.sha256(stream.encode()).digest()[:7], "little"))
            for sample, ids in enumerate(_generated(model, policy.tokenizer, inputs, order, room)):
                own.append(
                    {
                        "problem": place,
                        "sample": sample,
                        "prompt": text_of_prompt(processor, messages),
                        "completion": policy.tokenizer.decode(ids, skip_special_tokens=True),
                        "answer": problem["answer"],
                        "row": problem["row"],
                        "truncated": not ids or ids[-1] not in ends_of(model, policy.tokenizer),
                    }
                )
        gathered = [line for of_rank in world.gather(own) for line in of_rank]
    if skipped > 0 and context.report_once("held-out problems"):
        context.alert(
            "warning",
            f"{skipped} of {len(problems)} held-out problems have {policy.context} tokens or more, which fills the "
            "model's context. These problems are skipped in evaluations.",
        )
    return sorted(gathered, key=lambda line: (line["problem"], line["sample"]))


def _generated(model: Any, tokenizer: Any, inputs: Any, order: dict[str, Any], room: int) -> list[list[int]]:
    """Returns the tokens of each sample, up to and including the end-of-sequence token."""
    temperature = order["temperature"]
    ends = ends_of(model, tokenizer)
    drawn = {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0} if temperature > 0 else {}
    count = order["samples"] if temperature > 0 else 1
    config = GenerationConfig(
        max_new_tokens=min(order["maxTokens"], room),
        num_return_sequences=count,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=sorted(ends),
        **({"do_sample": False} | drawn),
    )
    output = model.generate(**inputs, generation_config=config)
    rows: list[list[int]] = []
    for row in output[:, inputs["input_ids"].shape[1] :].tolist():
        end = next((place for place, token in enumerate(row) if token in ends), len(row) - 1)
        rows.append(row[: end + 1])
    # Greedy samples are identical.
    return rows if count == order["samples"] else rows * order["samples"]
