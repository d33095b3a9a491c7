"""The policy: a model, its tokenizer, and its problem template."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path

import torch
from peft import PeftModel
from transformers import PreTrainedModel, PreTrainedTokenizerBase, ProcessorMixin

from .template import PromptTemplate

ADAPTER = "default"
"""Name of the trained adapter. TRL expects this name."""


@dataclass
class Policy:
    model: PreTrainedModel | PeftModel
    """The model. Stages can replace it, because TRL wraps some models."""
    tokenizer: PreTrainedTokenizerBase
    template: PromptTemplate
    name: str
    """Display name for messages: the path, or "a new model"."""
    context: int
    """Maximum sequence length in tokens."""
    processor: ProcessorMixin | None = None
    """Prepares text and pictures for a vision-language model. Contains the tokenizer."""

    @property
    def processing(self) -> PreTrainedTokenizerBase | ProcessorMixin:
        """The processor or tokenizer that TRL prepares prompts with."""
        return self.tokenizer if self.processor is None else self.processor

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.model.parameters())

    @property
    def trained(self) -> int:
        return sum(parameter.numel() for parameter in self.model.parameters() if parameter.requires_grad)

    @property
    def adapted(self) -> bool:
        """Whether training updates low-rank adapters instead of all weights."""
        return isinstance(self.model, PeftModel)

    def reference(self) -> PreTrainedModel | None:
        """Returns a frozen copy for a KL term or for preference training, or None when training adapters, because TRL
        then keeps a copy of the adapter. Without the frozen copy, TRL would reload the model from its source and lose
        the training from earlier stages.
        """
        if self.adapted:
            return None
        frozen = copy.deepcopy(self.model).eval()
        unpatch(frozen)
        for parameter in frozen.parameters():
            parameter.requires_grad_(False)
        return frozen

    def forget_reference(self) -> None:
        """Removes the adapter copy that TRL created during a stage, so the next stage creates a fresh one."""
        if isinstance(self.model, PeftModel):
            for name in [name for name in self.model.peft_config if name != ADAPTER]:
                self.model.delete_adapter(name)
            self.model.set_adapter(ADAPTER)

    def save(self, folder: Path, state_dict: dict[str, torch.Tensor] | None = None) -> None:
        """Saves model (or adapter) and tokenizer in a folder that a recipe can use as `model.path`. `state_dict`:
        gathered weights of a sharded model.
        """
        options = {"selected_adapters": [ADAPTER]} if self.adapted else {}
        self.model.save_pretrained(folder, state_dict=state_dict, **options)
        self.processing.save_pretrained(folder)


def unpatch(model: PreTrainedModel | PeftModel) -> None:
    """Restores a model's original forward method. TRL and accelerate replace it, so replacements would accumulate from
    stage to stage. They are also bound to their model, so a copy would compute with the original's weights.
    """
    for one in (model, model.get_base_model() if isinstance(model, PeftModel) else None):
        if one is not None:
            one.__dict__.pop("forward", None)
            one.__dict__.pop("_original_forward", None)
