"""A tiny model that reads pictures, in Hugging Face's folder format, and a dataset of colored squares for it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from PIL import Image, ImageDraw
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    CLIPVisionConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
)
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

SIDE = 32
"""Width and height of pictures for the model, in pixels: 4 x 4 patches."""

CHAT = (
    "{% for m in messages %}{% for part in m['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endfor %}"
)


SYMBOLS = "0123456789[], abcdefghijklmnopqrstuvwxyz?"


def make_vision_model(folder: Path, symbols: str = SYMBOLS, answers: Sequence[str] = ()) -> str:
    """
    Creates a character-level Llava with random weights that are the same every time.

    symbols: characters that are tokens. answers: texts that are tokens as a whole.
    """
    special = ["<pad>", "<bos>", "<eos>", "<unk>", "<image>"]
    vocabulary = {symbol: i for i, symbol in enumerate([*special, *symbols])}
    plain = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    plain.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=plain,
        pad_token="<pad>",
        bos_token="<bos>",
        eos_token="<eos>",
        unk_token="<unk>",
        additional_special_tokens=["<image>"],
        model_input_names=["input_ids", "attention_mask"],
    )
    tokenizer.add_tokens(list(answers))
    pictures = CLIPImageProcessorPil(size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE})
    processor = LlavaProcessor(
        image_processor=pictures,
        tokenizer=tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=CHAT,
    )
    torch.manual_seed(7)
    vision = CLIPVisionConfig(
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=SIDE,
        patch_size=8,
        projection_dim=16,
    )
    text = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=128,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
        tie_word_embeddings=False,
    )
    config = LlavaConfig(
        vision_config=vision,
        text_config=text,
        image_token_index=vocabulary["<image>"],
        image_seq_length=16,
        vision_feature_layer=-1,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    model = LlavaForConditionalGeneration(config)
    # A model with random weights would write image tokens, for which there are no images.
    model.generation_config.suppress_tokens = [vocabulary["<image>"]]
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return str(folder)


def squares(folder: Path, count: int) -> list[dict[str, Any]]:
    """Draws pictures of one square each, and writes them with their boxes as a dataset. Returns its rows."""
    rows: list[dict[str, Any]] = []
    for i in range(count):
        left, top, side = 2 + 5 * i % 17, 3 + 7 * i % 13, 8 + i % 5
        box = [left, top, left + side, top + side]
        picture = Image.new("RGB", (SIDE, SIDE), "white")
        ImageDraw.Draw(picture).rectangle([left, top, left + side - 1, top + side - 1], fill="red")
        picture.save(folder / f"{i}.png")
        rows.append({"prompt": f"where is square {i}?", "answer": "red", "boxes": [box], "picture": f"{i}.png"})
    (folder / "squares.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return rows


if __name__ == "__main__":
    make_vision_model(Path(sys.argv[1]) / "model")
    squares(Path(sys.argv[1]), 12)
