"""Samples completions for held-out problems, or plays their episodes if the recipe has an environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..trl.rewards import text_of_prompt
from .access import asked, encode_prompt
from .pictured import evaluate_pictured
from .sampler import Manner, Sampler, Wish

if TYPE_CHECKING:
    from ..course.context import Context


def evaluate(context: Context, order: dict[str, Any]) -> dict[str, Any]:
    """Samples held-out problems, split across all ranks. All ranks must call it together. Random streams depend only on
    seed, step and problem, so training is not affected and a resumed run measures the same values.
    """
    if context.recipe.get("environment") is not None:
        # Imported here because TRL is slow to load, and serving a checkpoint does not need it.
        from ..trl.episode_evaluation import evaluate_episodes

        return {"samples": evaluate_episodes(context, order)}
    policy, world = context.policy, context.world
    if policy.processor is not None:
        return {"samples": evaluate_pictured(context, order)}
    problems = context.problems.held_out(order["problems"])
    step = context.steps_done
    seed = context.recipe["seed"]
    prompts = [text_of_prompt(policy.tokenizer, policy.template.ask(problem["prompt"])) for problem in problems]
    encoded = [encode_prompt(policy.tokenizer, prompt) for prompt in prompts]
    left_out = sum(len(ids) >= policy.context for ids in encoded)
    if left_out > 0 and context.report_once("held-out problems"):
        context.alert(
            "warning",
            f"{left_out} of {len(problems)} held-out problems have {policy.context} tokens or more, which fills the "
            "model's context. These problems are skipped in evaluations.",
        )
    mine = [
        (place, sample)
        for place in range(world.rank, len(problems), world.size)
        if 0 < len(encoded[place]) < policy.context
        for sample in range(order["samples"])
    ]
    wishes = [
        Wish(encoded[place], f"{seed}/{order['name']}/{step}/{place}/{sample}", order["maxTokens"])
        for place, sample in mine
    ]
    with asked(context) as model:
        samples = Sampler(model, policy.tokenizer, policy.context).sample(wishes, Manner(order["temperature"]))
        own = [
            {
                "problem": place,
                "sample": number,
                "prompt": prompts[place],
                "completion": policy.tokenizer.decode(sample.tokens, skip_special_tokens=True),
                "answer": problems[place]["answer"],
                "row": problems[place]["row"],
                "truncated": not sample.ended,
            }
            for (place, number), sample in zip(mine, samples, strict=True)
        ]
        gathered = [line for of_rank in world.gather(own) for line in of_rank]
    gathered.sort(key=lambda line: (line["problem"], line["sample"]))
    return {"samples": gathered}
