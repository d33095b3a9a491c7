"""GRPO and DPO with TRL on a tiny random model, with TensorBoard and with trackio.

python trl_runs.py FOLDER
"""

import copy
import os
import sys
from pathlib import Path

folder = Path(sys.argv[1])
os.environ["TRACKIO_DIR"] = str(folder / "trackio")
sys.path.append(str(Path(__file__).parents[2] / "python"))

import weighted_run  # noqa: E402
from datasets import Dataset  # noqa: E402
from said import run, say  # noqa: E402
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # noqa: E402
from torch.utils.tensorboard import SummaryWriter  # noqa: E402
from transformers import LlamaConfig, LlamaForCausalLM, TrainerCallback  # noqa: E402
from trl import DPOConfig, DPOTrainer  # noqa: E402


def rollouts(generations):
    """TRL writes each generation's completions with the step after it; every four consecutive ones share a prompt."""
    return [
        (one["step"] + 1, f"{one['step']} {i // 4}", text, total)
        for one in generations
        for i, (text, total) in enumerate(zip(one["completions"], one["totals"], strict=True))
    ]


def logged(state):
    return [
        (row["step"], name, value)
        for row in state
        for name, value in row.items()
        if name not in ("step", "epoch") and isinstance(value, (int, float)) and not name.startswith(("train_", "total_flos"))
    ]


class Log(TrainerCallback):
    def on_train_end(self, args, state, control, **_):
        Log.history = list(state.log_history)


def scalars(path):
    events = EventAccumulator(str(path), size_guidance={"scalars": 0})
    events.Reload()
    # The summary of the whole run is not a metric of its last step.
    tags = [tag for tag in events.Tags()["scalars"] if not tag.startswith(("train/train_", "train/total_flos"))]
    return [(event.step, tag, event.value) for tag in tags for event in events.Scalars(tag)]


def grpo(name, **options):
    path = folder / name
    found = weighted_run.train(str(path), {"steps": 3, "run_name": name, **options})
    return path, rollouts(found["generations"])


def dpo():
    tokenizer = weighted_run.make_tokenizer()
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            max_position_embeddings=128,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    rows = [{"prompt": f"{a}+{a}=", "chosen": str(2 * a), "rejected": str(2 * a + 1)} for a in range(8)]
    path = folder / "dpo"
    args = DPOConfig(
        output_dir=str(path),
        per_device_train_batch_size=4,
        max_steps=3,
        logging_steps=1,
        save_steps=3,
        save_only_model=True,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    trainer = DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        callbacks=[Log()],
    )
    trainer.train()
    return path, logged(Log.history)


board, board_rollouts = grpo("grpo", weights=[1, -0.25], report_to=["tensorboard"])
[events] = {event.parent for event in folder.rglob("events.out.tfevents*")}
# The tracker does not record reward weights.
_, tracked = grpo("tracked", weights=[1, 1], report_to=["trackio"], project="tracked")
dpo_path, dpo_log = dpo()
board_path = folder / "board"
with SummaryWriter(str(board_path)) as writer:
    for step in range(50):
        writer.add_scalar("loss/a", 1 / (step + 1), step)
        writer.add_scalars("loss", {"b": step / 8, "c": -step}, step)
say(
    ["trl", "transformers", "torch", "tensorboard", "trackio"],
    [
        run("TRL, GRPO", board, "trl", board_rollouts, metrics=scalars(events)),
        run("TRL, DPO", dpo_path, "trl", metrics=dpo_log),
        run("TensorBoard, torch's SummaryWriter", board_path, "tensorboard", metrics=scalars(board_path)),
        run("trackio, tables of TRL", folder / "trackio", "trackio", tracked),
    ],
)
