"""Writes a model with the Qwen2 architecture and random weights, and a tokenizer of matching size, to a folder."""

import argparse
import itertools
import json
import os
import string
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

SPECIAL = ["<pad>", "<bos>", "<eos>", "<unk>"]
PRINTED = [chr(code) for code in range(32, 127)]


def vocabulary(size: int) -> dict[str, int]:
    """Special tokens, printable characters, and three- and four-letter words: about the length of English tokens."""
    words = ("".join(word) for n in (3, 4) for word in itertools.product(string.ascii_lowercase, repeat=n))
    tokens = list(itertools.islice(itertools.chain(SPECIAL, PRINTED, words), size))
    if len(tokens) < size:
        raise SystemExit(f"There are words for {len(tokens)} tokens, not for {size}.")
    return {token: i for i, token in enumerate(tokens)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--shape", required=True, help="sizes as Qwen2Config names them, as JSON")
    options = parser.parse_args()

    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(pad_token_id=0, bos_token_id=1, eos_token_id=2, **json.loads(options.shape))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(1)
    with torch.device(device):
        model = Qwen2ForCausalLM(config).to(torch.bfloat16)
    folder = Path(options.folder)
    model.save_pretrained(folder)

    plain = Tokenizer(models.WordLevel(vocabulary(config.vocab_size), unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    plain.decoder = decoders.Fuse()
    PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="<pad>", bos_token="<bos>", eos_token="<eos>", unk_token="<unk>"
    ).save_pretrained(folder)
    print(sum(parameter.numel() for parameter in model.parameters()))


if __name__ == "__main__":
    main()
