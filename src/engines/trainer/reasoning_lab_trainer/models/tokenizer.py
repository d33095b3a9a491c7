"""Loads tokenizers: the recipe's own, created in TypeScript, and those in model folders and on the Hub."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast, ProcessorMixin

from ..failure import Failure
from ..regular_file import read_regular
from .hub import hub_failure, is_folder
from .template import Message, PromptTemplate

PAD, BOS, EOS = "<pad>", "<bos>", "<eos>"
"""First three tokens of every vocabulary created by `src/core/text/tokenizer.ts`."""


def lab_tokenizer(text: str, what: str = "tokenizer.json") -> PreTrainedTokenizerFast:
    """Loads the tokenizer from a `tokenizer.json` written by `renderTokenizerJson`."""
    try:
        tokenizer = Tokenizer.from_str(text)
    except Exception as error:  # The tokenizers library raises plain Exception.
        raise Failure(
            "corrupt", f"{what} is not a valid tokenizer ({error}).", "Use a different checkpoint."
        ) from error
    for id, token in enumerate((PAD, BOS, EOS)):
        if tokenizer.token_to_id(token) != id:
            raise Failure("invalid", f"{what} was not written by this engine: token {id} is not {token}.")
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        bos_token=BOS,
        eos_token=EOS,
        clean_up_tokenization_spaces=False,
        model_input_names=["input_ids", "attention_mask"],
    )


def load_tokenizer(path: str, revision: str | None = None) -> PreTrainedTokenizerBase:
    """Loads the tokenizer from a model folder or Hub id and ensures that it has a padding token. Raises `missing` if a
    folder has no tokenizer, and the failures of `hub_failure` for a Hub id.
    """
    folder = Path(path)
    if is_folder(path) and not any((folder / name).is_file() for name in TOKENIZER_FILES):
        raise Failure(
            "missing",
            f"The model folder {path} has no tokenizer. It contains none of {', '.join(TOKENIZER_FILES)}.",
            "Save the model's tokenizer to the folder (tokenizer.save_pretrained).",
        )
    try:
        tokenizer = AutoTokenizer.from_pretrained(path, revision=revision, trust_remote_code=False)
    except Failure:
        raise
    except Exception as error:
        raise hub_failure(error, "tokenizer", path) from error
    return usable(tokenizer, path)


def usable(tokenizer: PreTrainedTokenizerBase, path: str) -> PreTrainedTokenizerBase:
    """Returns the tokenizer with a padding token. Raises `invalid` if it has no end-of-sequence token."""
    if tokenizer.eos_token_id is None:
        raise Failure(
            "invalid",
            f"The tokenizer for {path} has no end-of-sequence token, so completions would never end.",
            'Set "eos_token" in its tokenizer_config.json.',
        )
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "tekken.json")


def set_chat_template(
    tokenizer: PreTrainedTokenizerBase | ProcessorMixin,
    template: PromptTemplate,
    recipe: dict[str, Any],
    prepared: Callable[[list[Message]], list[Any]] = list,
) -> None:
    """Replaces the chat template of a tokenizer or processor with the recipe's Jinja file, and tests the template if
    problems use it. `prepared` converts the test messages. Raises `missing` or `invalid`, with messages that
    name the recipe key.
    """
    file = recipe["model"].get("template")
    if file is not None:
        try:
            tokenizer.chat_template = read_regular(Path(file), 1 << 20).decode("utf-8")
        except (Failure, OSError, UnicodeDecodeError) as error:
            raise Failure(
                "missing",
                f"Cannot read the chat template {file} ({error}).",
                'Set "model.template" to a Jinja file.',
            ) from error
    if not template.chat:
        return
    if tokenizer.chat_template is None:
        what = recipe["model"].get("path", "the new model")
        raise Failure(
            "missing",
            f"The tokenizer for {what} has no chat template, but the recipe applies one to its problems.",
            'Set "model.template" to a Jinja file, or set "chat" in "template" to false.',
        )
    try:
        asked = tokenizer.apply_chat_template(
            prepared(template.converse("1+1=")), add_generation_prompt=True, tokenize=False
        )
    except Exception as error:
        where = "" if file is None else f" {file}"
        raise Failure(
            "invalid",
            f"The chat template{where} does not accept the recipe's messages: {first_line(error)}.",
            'Remove "system" if the template does not support that role, or set "model.template" to a different file.',
        ) from error
    if "1+1=" not in asked:
        raise Failure("invalid", "The chat template omits the user message.", "Fix the Jinja file.")


def first_line(error: BaseException) -> str:
    """Returns the first line of an error message, shortened and without the final period."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0].strip().rstrip(".")[:300]
