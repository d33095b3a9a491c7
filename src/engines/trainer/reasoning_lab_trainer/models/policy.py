"""The policy: a model, its tokenizer, and how problems are put to it."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path

import torch
from peft import PeftModel
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from .template import PromptTemplate

ADAPTER = "default"
"""Name of the adapter that is trained, as TRL expects it."""


@dataclass
class Policy:
    model: PreTrainedModel | PeftModel
    """Stages may put another one in its place: TRL wraps some."""
    tokenizer: PreTrainedTokenizerBase
    template: PromptTemplate
    name: str
    """For sentences: the path, or "a new model"."""
    context: int
    """Longest sequence in tokens."""

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.model.parameters())

    @property
    def trained(self) -> int:
        return sum(parameter.numel() for parameter in self.model.parameters() if parameter.requires_grad)

    @property
    def adapted(self) -> bool:
        """Whether low-rank adapters are trained in place of all weights."""
        return isinstance(self.model, PeftModel)

    def reference(self) -> PreTrainedModel | None:
        """
        A frozen copy, for a KL term or preferences; None where adapters are trained: there TRL keeps a copy of the
        adapter. TRL itself would read the model again from where it came, and forget what earlier stages taught it.
        """
        if self.adapted:
            return None
        frozen = copy.deepcopy(self.model).eval()
        unpatch(frozen)
        for parameter in frozen.parameters():
            parameter.requires_grad_(False)
        return frozen

    def forget_reference(self) -> None:
        """Removes the copy of the adapter that a stage of TRL made, so that the next stage makes its own."""
        if isinstance(self.model, PeftModel):
            for name in [name for name in self.model.peft_config if name != ADAPTER]:
                self.model.delete_adapter(name)
            self.model.set_adapter(ADAPTER)

    def save(self, folder: Path, state_dict: dict[str, torch.Tensor] | None = None) -> None:
        """
        Writes model (or adapter) and tokenizer so that `model.path` of a recipe can name the folder.
        `state_dict`: gathered weights, where the model itself is sharded.
        """
        options = {"selected_adapters": [ADAPTER]} if self.adapted else {}
        self.model.save_pretrained(folder, state_dict=state_dict, **options)
        self.tokenizer.save_pretrained(folder)


def unpatch(model: PreTrainedModel | PeftModel) -> None:
    """
    Gives a model its own forward pass back. TRL and accelerate put others in its place, which would stack up from stage
    to stage; and those hold on to the model that they were made for, so that a copy would compute with the weights of
    that one.
    """
    for one in (model, model.get_base_model() if isinstance(model, PeftModel) else None):
        if one is not None:
            one.__dict__.pop("forward", None)
            one.__dict__.pop("_original_forward", None)
