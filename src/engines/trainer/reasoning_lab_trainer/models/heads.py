"""Scoring models derived from a policy, with one output per text or per step."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, Literal

import torch
from peft import PeftModel, get_peft_model
from transformers import (
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from ..failure import Failure
from .load import lora_config
from .policy import ADAPTER, Policy

HeadName = Literal["reward-model", "process-reward-model"]

_CLASSES = {
    "reward-model": (AutoModelForSequenceClassification, "SEQ_CLS", 1),
    # Step classes: incorrect and correct.
    "process-reward-model": (AutoModelForTokenClassification, "TOKEN_CLS", 2),
}


def make_head(
    policy: Policy, name: HeadName, recipe: dict[str, Any], folder: Path | None = None
) -> PreTrainedModel | PeftModel:
    """Creates a copy of the policy's layers with a new output layer. Loads trained weights from `folder` if it contains
    a head saved by `save_head`. Raises `unsupported` if transformers has no such model for the architecture.
    """
    loader, task, labels = _CLASSES[name]
    lora = (recipe.get("pytorch") or {}).get("lora")
    if folder is not None and lora is None:
        return loader.from_pretrained(folder, dtype=torch.float32, trust_remote_code=False)
    source = copy.deepcopy(policy.model).merge_and_unload() if isinstance(policy.model, PeftModel) else policy.model
    config = copy.deepcopy(source.config)
    config.num_labels = labels
    config.architectures = None
    if type(config) not in loader._model_mapping:
        raise Failure(
            "unsupported",
            f'transformers does not support {name} for the "{config.model_type}" architecture of {policy.name}.',
            "Use a policy with a different architecture for this stage.",
        )
    with torch.random.fork_rng():
        torch.manual_seed(recipe["seed"])
        head = loader.from_config(config, dtype=next(source.parameters()).dtype, trust_remote_code=False)
    head.base_model.load_state_dict(source.base_model.state_dict())
    head.config.pad_token_id = policy.tokenizer.pad_token_id
    if lora is None:
        return head
    if folder is not None:
        return PeftModel.from_pretrained(head, folder / "adapter", adapter_name=ADAPTER, is_trainable=True)
    with torch.random.fork_rng():
        torch.manual_seed(recipe["seed"])
        return get_peft_model(head, lora_config(lora, task), adapter_name=ADAPTER)


def save_head(
    model: PreTrainedModel | PeftModel,
    tokenizer: PreTrainedTokenizerBase,
    folder: Path,
    state_dict: dict[str, torch.Tensor] | None = None,
) -> None:
    """Saves a head in a format that Hugging Face's `from_pretrained` can open. Adapters are merged into the saved head
    because its trunk is not stored anywhere else. They are also saved separately so that training can resume.
    """
    tokenizer.save_pretrained(folder)
    if isinstance(model, PeftModel):
        model.save_pretrained(folder / "adapter", selected_adapters=[ADAPTER], state_dict=state_dict)
        copy.deepcopy(model).merge_and_unload().save_pretrained(folder)
    else:
        model.save_pretrained(folder, state_dict=state_dict)
