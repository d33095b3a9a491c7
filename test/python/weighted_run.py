"""Runs TRL's GRPOTrainer on a tiny random model with weighted rewards, and saves the runs and the values TRL computed.

python weighted_run.py FOLDER OPTIONS [FOLDER OPTIONS...]

OPTIONS is a JSON object: `weights`, `steps`, `eval_prompts`, `gaps` (a function that skips completions), `chat`
(prompts are messages), and other GRPOConfig fields. The last line of output contains, for each run, the totals,
advantages and completions of each generation in the trainer's order.
"""

import json
import os
import sys

os.environ.update(HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1", TOKENIZERS_PARALLELISM="false")

import torch  # noqa: E402
from datasets import Dataset  # noqa: E402
from tokenizers import Tokenizer, decoders, models, pre_tokenizers  # noqa: E402
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast  # noqa: E402
from trl import GRPOConfig, GRPOTrainer  # noqa: E402

torch.set_num_threads(1)

SPECIALS = ["<pad>", "<eos>", "<|im_start|>", "<|im_end|>"]
CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def make_tokenizer():
    symbols = [*SPECIALS, *"0123456789+= \n?.abcdefghijklmnopqrstuvwxyzWY"]
    model = models.WordLevel({symbol: i for i, symbol in enumerate(symbols)}, unk_token="<pad>")
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens(SPECIALS)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>")
    fast.chat_template = CHATML
    fast.model_input_names = ["input_ids", "attention_mask"]
    return fast


def text_of(completion):
    return completion if isinstance(completion, str) else completion[0]["content"]


def digits(completions, **kwargs):
    return [sum(character.isdigit() for character in text_of(c)) / max(1, len(text_of(c))) for c in completions]


def brevity(completions, **kwargs):
    return [-len(text_of(c)) / 10 for c in completions]


def sometimes(completions, **kwargs):
    return [None if len(text_of(c)) % 3 == 0 else float("a" in text_of(c)) for c in completions]


def train(folder, options):
    torch.manual_seed(1)
    weights = options.pop("weights", None)
    gaps, chat = options.pop("gaps", False), options.pop("chat", False)
    steps, eval_prompts = options.pop("steps", 4), options.pop("eval_prompts", 0)
    tokenizer = make_tokenizer()
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

    def prompt(text):
        if not chat:
            return f"{text}="
        return [{"role": "system", "content": "You add."}, {"role": "user", "content": f"What is {text}?"}]

    generations = []

    class Recorded(GRPOTrainer):
        """Unmodified trainer that records what it computed for each generation."""

        def _generate_and_score_completions(self, inputs):
            result = super()._generate_and_score_completions(inputs)
            count = len(inputs)
            last = {name: list(values)[-count:] for name, values in self._logs["rewards"].items()}
            scores = torch.tensor([last[name] for name in self.reward_func_names], dtype=torch.float64).T
            totals = (scores * self.reward_weights.double()).nansum(dim=1)
            generations.append(
                {
                    "mode": "train" if self.model.training else "eval",
                    "step": self.state.global_step,
                    "completions": list(self._logs["completion"])[-count:],
                    "totals": totals.tolist(),
                    "advantages": list(self._logs["advantages"])[-count:],
                }
            )
            return result

    data = Dataset.from_list([{"prompt": prompt(f"{a}+{a + 1}")} for a in range(8)])
    evaluation = [{"prompt": prompt(f"{a}+{a}")} for a in range(eval_prompts)]
    args = {
        "output_dir": folder,
        "per_device_train_batch_size": 16,
        "num_generations": 4,
        "max_completion_length": 16,
        "max_steps": steps,
        "learning_rate": 1e-3,
        "reward_weights": weights,
        "report_to": [],
        "save_strategy": "steps",
        "save_steps": steps,
        "save_only_model": True,
        "logging_steps": 1,
        "log_completions": True,
        "num_completions_to_print": 0,
        "use_cpu": True,
        "disable_tqdm": True,
        "seed": 3,
    }
    if eval_prompts:
        args.update(per_device_eval_batch_size=8, eval_strategy="steps", eval_steps=2)
    trainer = Recorded(
        model=model,
        reward_funcs=[digits, brevity] + ([sometimes] if gaps else []),
        args=GRPOConfig(**{**args, **options}),
        train_dataset=data,
        eval_dataset=Dataset.from_list(evaluation) if evaluation else None,
        processing_class=tokenizer,
    )
    trainer.train()
    return {"folder": folder, "generations": generations, "names": trainer.reward_func_names}


def main():
    runs = zip(sys.argv[1::2], sys.argv[2::2], strict=True)
    print(json.dumps([train(folder, json.loads(options)) for folder, options in runs]))


if __name__ == "__main__":
    main()
