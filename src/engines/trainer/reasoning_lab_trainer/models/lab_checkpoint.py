"""Reads and writes embedded-engine checkpoints, which store the weights of `LabForCausalLM` under different names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from ..failure import Failure
from ..regular_file import read_regular
from .embedded import LabConfig, LabForCausalLM

STATE = "state.json"
WEIGHTS = "model.safetensors"

_TRUNK = {
    "embedding.tokens": "model.embed_tokens.weight",
    "embedding.positions": "model.embed_positions.weight",
    "norm": "model.norm.weight",
}
_BLOCK = {
    "attention.norm": "input_layernorm.weight",
    "feed_forward.norm": "post_attention_layernorm.weight",
}
_BLOCK_MATRICES = {
    "attention.qkv": "self_attn.qkv_proj.weight",
    "attention.output": "self_attn.o_proj.weight",
    "feed_forward.up": "up_proj.weight",
    "feed_forward.down": "down_proj.weight",
}


def names(layers: int) -> list[tuple[str, str, bool]]:
    """Yields the embedded engine's tensor name, the name used here, and whether the matrix is transposed. The embedded
    engine stores matrices as [inputs, outputs].
    """
    found = [(there, here, False) for there, here in _TRUNK.items()]
    for layer in range(layers):
        prefix, own = f"blocks.{layer}.", f"model.layers.{layer}."
        found += [(prefix + there, own + here, False) for there, here in _BLOCK.items()]
        found += [(prefix + there, own + here, True) for there, here in _BLOCK_MATRICES.items()]
    found.append(("head", "lm_head.weight", True))
    return found


def is_lab_checkpoint(folder: Path) -> bool:
    """Returns whether a folder is an embedded-engine checkpoint, as opposed to one from this engine, which has a
    config.json.
    """
    return (folder / STATE).is_file() and (folder / WEIGHTS).is_file() and not (folder / "config.json").exists()


def config_of(shape: dict[str, int]) -> LabConfig:
    """Creates the configuration for a `ModelShape` (vocabulary, context, width, heads, layers, feedForward)."""
    if shape["width"] % shape["heads"] != 0:
        raise Failure(
            "invalid",
            f"The model width of {shape['width']} is not a multiple of its {shape['heads']} heads.",
            "Choose a width that is divisible by the number of heads.",
        )
    return LabConfig(
        vocab_size=shape["vocabulary"],
        max_position_embeddings=shape["context"],
        hidden_size=shape["width"],
        num_attention_heads=shape["heads"],
        num_hidden_layers=shape["layers"],
        intermediate_size=shape["feedForward"],
    )


def _damaged(folder: Path, why: str) -> Failure:
    return Failure("corrupt", f"Checkpoint {folder} is damaged: {why}.", "Use a different checkpoint.")


def _shape(folder: Path) -> dict[str, int]:
    try:
        state: Any = json.loads(read_regular(folder / STATE, 16 << 20))
    except (Failure, OSError, ValueError) as error:
        raise _damaged(folder, f"{STATE} is not valid JSON") from error
    shape = state.get("shape") if isinstance(state, dict) else None
    sizes = ("vocabulary", "context", "width", "heads", "layers", "feedForward")
    if not isinstance(shape, dict) or any(type(shape.get(size)) is not int or shape[size] < 1 for size in sizes):
        raise _damaged(folder, f"{STATE} does not contain valid model sizes")
    return shape


def load_lab_checkpoint(folder: Path, dtype: torch.dtype = torch.float32) -> LabForCausalLM:
    """Loads the policy from an embedded-engine checkpoint, in evaluation mode on the CPU. Raises `corrupt` for damaged
    files and `mismatch` if weight shapes differ.
    """
    config = config_of(_shape(folder))
    try:
        tensors = load_file(folder / WEIGHTS)
    except (OSError, SafetensorError) as error:
        raise _damaged(folder, f"cannot read {WEIGHTS} ({error})") from error
    model = LabForCausalLM(config)
    own = model.state_dict()
    converted: dict[str, torch.Tensor] = {}
    for there, here, transposed in names(config.num_hidden_layers):
        tensor = tensors.get(there)
        expected = tuple(own[here].shape[::-1] if transposed else own[here].shape)
        if tensor is None or tuple(tensor.shape) != expected:
            raise Failure(
                "mismatch",
                f"Checkpoint {folder} is for a different model: it has no tensor {there} of shape {list(expected)}.",
                "Use a checkpoint from a run with the same model.",
            )
        converted[here] = tensor.t().contiguous() if transposed else tensor
    model.load_state_dict(converted)
    return model.to(dtype).eval()


def save_lab_weights(model: LabForCausalLM, file: Path) -> None:
    """Saves the weights as an embedded-engine `model.safetensors`, using that engine's tensor names and layout, in
    f32.
    """
    own = model.state_dict()
    tensors = {
        there: (own[here].t() if transposed else own[here]).float().contiguous().cpu()
        for there, here, transposed in names(model.config.num_hidden_layers)
    }
    save_file(tensors, file, metadata={"format": "pt"})
