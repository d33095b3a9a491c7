"""Vision-language models, and the processors that prepare text and pictures for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from peft import PeftModel
from transformers import (
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoProcessor,
    PreTrainedModel,
    ProcessorMixin,
)

from ..failure import Failure
from .hub import hub_failure, is_folder
from .template import Message
from .tokenizer import first_line, usable

CONFIGURATIONS = ("processor_config.json", "preprocessor_config.json")


def reads_pictures(recipe: dict[str, Any]) -> bool:
    """Returns whether the recipe trains on pictures."""
    return (recipe.get("dataset") or {}).get("image") is not None


def auto_class(recipe: dict[str, Any]) -> Any:
    """Returns the transformers class that opens the recipe's model."""
    return AutoModelForImageTextToText if reads_pictures(recipe) else AutoModelForCausalLM


def load_processor(path: str, revision: str | None = None) -> ProcessorMixin:
    """Loads the processor from a model folder or Hub id, with a tokenizer that training can use. Raises `missing`,
    `unavailable`, and the failures of `hub_failure`.
    """
    if is_folder(path) and not any((Path(path) / name).is_file() for name in CONFIGURATIONS):
        raise Failure(
            "missing",
            f"The model folder {path} has no processor. It contains none of {', '.join(CONFIGURATIONS)}.",
            "Save the model's processor to the folder (processor.save_pretrained).",
        )
    try:
        processor = AutoProcessor.from_pretrained(path, revision=revision, trust_remote_code=False)
    except ImportError as error:
        raise Failure(
            "unavailable",
            f"The processor for {path} requires a package that is not installed: {first_line(error)}.",
            "Install the package in the engine environment (often torchvision).",
        ) from error
    except Exception as error:
        raise hub_failure(error, "processor", path) from error
    if not isinstance(processor, ProcessorMixin) or getattr(processor, "image_processor", None) is None:
        raise Failure("mismatch", f"Model {path} does not support image input.", "Use a vision-language model.")
    usable(processor.tokenizer, path)
    return processor


def forbid_image_tokens(model: PreTrainedModel | PeftModel, processor: ProcessorMixin) -> None:
    """Keeps the model from generating image placeholder tokens, because models raise an error for placeholders without
    an image.
    """
    names = ("image_token_id", "video_token_id")
    ids = [getattr(source, name, None) for source in (processor, model.config) for name in names]
    own = model.generation_config.suppress_tokens or []
    model.generation_config.suppress_tokens = sorted({*own, *(id for id in ids if isinstance(id, int))})


def with_picture(messages: list[Message], picture: Any = None) -> list[dict[str, Any]]:
    """Converts message contents to lists of blocks and puts the picture (or a placeholder) before the text of the first
    user message, as TRL does.
    """
    block: dict[str, Any] = {"type": "image"} if picture is None else {"type": "image", "image": picture}
    first = next((i for i, message in enumerate(messages) if message["role"] == "user"), -1)
    return [
        {**message, "content": [*([block] if i == first else []), {"type": "text", "text": message["content"]}]}
        for i, message in enumerate(messages)
    ]


def without_pictures(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Converts message contents to text, which is what rewards receive."""
    return [
        {
            **message,
            "content": "".join(block.get("text") or "" for block in message["content"])
            if isinstance(message.get("content"), list)
            else message.get("content"),
        }
        for message in messages
    ]
