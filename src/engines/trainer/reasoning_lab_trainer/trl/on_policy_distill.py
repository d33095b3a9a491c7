"""On-policy distillation: the student samples completions and learns to match the teacher's distribution at each token.
Uses TRL's DistillationTrainer (GKD, Agarwal et al. 2023, arXiv:2306.13649; with `beta` 1, the reverse KL per token) or
its MiniLLMTrainer (`minillm.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from datasets import Dataset

from ..course.train_stage import train
from ..failure import Failure
from ..models.load import load_policy
from .arguments import training_arguments
from .minillm import minillm, minillm_options
from .options import place_of
from .refused import find_trainer, trainer_of
from .rows_stage import MAX_ROWS, batch_options, measured
from .sampling_stage import vllm_options

if TYPE_CHECKING:
    from ..course.context import Context
    from ..course.stage import Stage


def run_stage(context: Context, stage: Stage) -> None:
    """Trains on completions that the student samples for problems from the stream, one per problem."""
    settings = stage.settings
    trainer_class, config_class = find_trainer(trainer_of(settings))
    is_minillm = settings.get("method") == "minillm"
    teacher = teacher_model(context, stage)
    size = int(settings["batch_size"])
    needed = min(stage.steps * size, MAX_ROWS)
    ask = context.policy.template.ask
    prompts = [{"prompt": ask(problem["prompt"])} for problem in context.problems.training(stage.first_problem, needed)]
    arguments = training_arguments(
        context,
        stage,
        config_class,
        **batch_options(context, stage),
        **vllm_options(context),
        **(minillm_options(settings) if is_minillm else {"beta": settings.get("beta", 1.0)}),
        temperature=settings["temperature"],
        max_completion_length=settings["max_completion_length"],
        # Problems are already in training order.
        shuffle_dataset=False,
    )
    trainer = measured(minillm(trainer_class) if is_minillm else trainer_class)(
        model=context.policy.model,
        teacher_model=teacher,
        args=arguments,
        train_dataset=Dataset.from_list(prompts),
        processing_class=context.policy.tokenizer,
    )
    trainer.problems_per_batch = size
    train(context, stage, trainer)


def teacher_model(context: Context, stage: Stage) -> Any:
    """Loads the teacher, frozen. Raises `mismatch` if its vocabulary differs from the student's."""
    path = stage.settings["teacher"]["path"]
    adapters = {name: value for name, value in (context.recipe.get("pytorch") or {}).items() if name != "lora"}
    recipe = {**context.recipe, "model": {"path": path}, "pytorch": adapters}
    teacher = load_policy(recipe, None, context.policy.model.device)
    own, other = (policy.tokenizer.get_vocab() for policy in (context.policy, teacher))
    if own != other:
        raise Failure(
            "mismatch",
            f"{place_of(stage.index, stage.settings)}: the teacher {path} has a different vocabulary "
            f"({len(other)} tokens, the student has {len(own)}), so their probabilities cannot be compared.",
            'Choose a teacher from the same model family, or set "data" to its completions.',
        )
    return teacher.model.eval().requires_grad_(False)
