"""Trains for two steps with TRL's GRPOTrainer on a tiny random model, using an exported adapter.

python grpo_rewards.py ADAPTER

The last line of output contains the arguments and results of the reward functions.
"""

import importlib.util
import json
import os
import sys
import tempfile

os.environ.update(HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1", TOKENIZERS_PARALLELISM="false")

import torch  # noqa: E402
from datasets import Dataset  # noqa: E402
from tokenizers import Tokenizer, decoders, models, pre_tokenizers  # noqa: E402
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast  # noqa: E402
from trl import GRPOConfig, GRPOTrainer  # noqa: E402

torch.manual_seed(1)
torch.set_num_threads(1)


def load(path):
    spec = importlib.util.spec_from_file_location("adapter", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_tokenizer():
    symbols = ["<pad>", "<eos>", *"0123456789+= <>/abcdefghijklmnopqrstuvwxyz"]
    model = models.WordLevel({symbol: i for i, symbol in enumerate(symbols)}, unk_token="<pad>")
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>")


def recorded(function, calls):
    """Wraps a function under its own name and records its arguments and results."""

    def note(kwargs, values):
        columns = {key: value for key, value in kwargs.items() if key in ("answer", "limit")}
        calls.append(
            {
                "reward": function.__name__,
                "prompts": kwargs["prompts"],
                "completions": kwargs["completions"],
                "columns": columns,
                "values": list(values),
            }
        )
        return values

    if hasattr(function, "__code__") and function.__code__.co_flags & 0x80:  # Coroutine function.

        async def wrapper(**kwargs):
            return note(kwargs, await function(**kwargs))
    else:

        def wrapper(**kwargs):
            return note(kwargs, function(**kwargs))

    wrapper.__name__ = function.__name__
    return wrapper


def main():
    adapter = load(sys.argv[1])
    calls = []
    tokenizer = make_tokenizer()
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            max_position_embeddings=64,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    dataset = Dataset.from_list(
        [{"prompt": f"{a}+{a + 1}=", "answer": "" if a == 3 else str(2 * a + 1), "limit": 8 + a} for a in range(8)]
    )
    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            model=model,
            reward_funcs=[recorded(function, calls) for function in adapter.reward_funcs],
            args=GRPOConfig(
                output_dir=folder,
                per_device_train_batch_size=4,
                num_generations=4,
                max_completion_length=12,
                max_steps=2,
                learning_rate=1e-4,
                reward_weights=[float(weight) for weight in adapter.reward_weights],
                report_to=[],
                save_strategy="no",
                logging_steps=1,
                use_cpu=True,
                disable_tqdm=True,
            ),
            train_dataset=dataset,
            processing_class=tokenizer,
        )
        trainer.train()
        history = [row for row in trainer.state.log_history if "reward" in row]
    print(json.dumps({"calls": calls, "weights": adapter.reward_weights, "history": history}))


if __name__ == "__main__":
    main()
