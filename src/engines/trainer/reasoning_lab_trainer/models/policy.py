"""The policy: a model, its tokenizer, and the template of its problems."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path

import torch
from peft import PeftModel
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from .template import PromptTemplate

ADAPTER = "default"
"""Name of the trained adapter, as expected by TRL."""


@dataclass
class Policy:
    model: PreTrainedModel | PeftModel
    """Stages may replace it: TRL wraps some models."""
    tokenizer: PreTrainedTokenizerBase
    template: PromptTemplate
    name: str
    """Name for messages: the path, or "a new model"."""
    context: int
    """Max sequence length in tokens."""

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.model.parameters())

    @property
    def trained(self) -> int:
        return sum(parameter.numel() for parameter in self.model.parameters() if parameter.requires_grad)

    @property
    def adapted(self) -> bool:
        """Whether low-rank adapters are trained instead of all weights."""
        return isinstance(self.model, PeftModel)

    def reference(self) -> PreTrainedModel | None:
        """A frozen copy, for a KL term or preferences; None if adapters are trained, in which case TRL keeps a copy of
        the adapter. TRL itself would load the model again from its source, and lose what earlier stages trained.
        """
        if self.adapted:
            return None
        frozen = copy.deepcopy(self.model).eval()
        unpatch(frozen)
        for parameter in frozen.parameters():
            parameter.requires_grad_(False)
        return frozen

    def forget_reference(self) -> None:
        """Removes the adapter copy made by TRL in a stage, so that the next stage makes its own."""
        if isinstance(self.model, PeftModel):
            for name in [name for name in self.model.peft_config if name != ADAPTER]:
                self.model.delete_adapter(name)
            self.model.set_adapter(ADAPTER)

    def save(self, folder: Path, state_dict: dict[str, torch.Tensor] | None = None) -> None:
        """Saves model (or adapter) and tokenizer so that `model.path` of a recipe can refer to the folder.
        `state_dict`: gathered weights of a sharded model.
        """
        options = {"selected_adapters": [ADAPTER]} if self.adapted else {}
        self.model.save_pretrained(folder, state_dict=state_dict, **options)
        self.tokenizer.save_pretrained(folder)


def unpatch(model: PreTrainedModel | PeftModel) -> None:
    """Restores the original forward method of a model. TRL and accelerate replace it, which would stack up from stage
    to stage; and the replacements are bound to their model, so that a copy would compute with the weights of the
    original.
    """
    for one in (model, model.get_base_model() if isinstance(model, PeftModel) else None):
        if one is not None:
            one.__dict__.pop("forward", None)
            one.__dict__.pop("_original_forward", None)
