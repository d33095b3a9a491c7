"""Changes hyperparameters while a stage is running."""

from __future__ import annotations

from typing import Any

from transformers import Trainer

ATTRIBUTES = {"epsilon": "epsilon_low"}
"""Trainer attributes whose names differ from the recipe key."""


class Hyperparameters:
    """Trainer hyperparameters that can change between two generation batches. Only values that differ are applied, so
    repeating a change does not affect results.
    """

    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer
        self._told: dict[str, float] = {}

    def apply(self, values: dict[str, float]) -> list[str]:
        """Applies `values` and returns a sentence for each value that cannot be applied."""
        refused: list[str] = []
        for name, value in values.items():
            if self._told.get(name) == value:
                continue
            self._told[name] = value
            sentence = self._set(name, value)
            if sentence is not None:
                refused.append(sentence)
        return refused

    def _set(self, name: str, value: float) -> str | None:
        fixed = getattr(self._trainer, "fixed_hyperparameters", {})
        if name in fixed:
            return None if value == getattr(self._trainer, name) else fixed[name]
        setter = getattr(self, f"_set_{name}", None)
        return self._set_attribute(name, value) if setter is None else setter(value)

    def _set_learning_rate(self, value: float) -> None:
        """Sets the peak learning rate. The schedule continues from its current position."""
        trainer = self._trainer
        scheduler = trainer.lr_scheduler
        if value == trainer.args.learning_rate and self._peak() == value:
            return
        trainer.args.learning_rate = value
        groups = trainer.optimizer.param_groups
        lambdas = getattr(scheduler, "lr_lambdas", None)
        for i, group in enumerate(groups):
            before = group.get("initial_lr", group["lr"])
            if lambdas is not None:
                group["lr"] = value * lambdas[i](scheduler.last_epoch)
            else:
                group["lr"] = value if before == 0 else group["lr"] * (value / before)
            group["initial_lr"] = value
        if hasattr(scheduler, "base_lrs"):
            scheduler.base_lrs = [value] * len(groups)
        if hasattr(scheduler, "_last_lr"):
            scheduler._last_lr = [group["lr"] for group in groups]

    def _peak(self) -> float | None:
        rates = getattr(self._trainer.lr_scheduler, "base_lrs", None)
        return rates[0] if rates else None

    def _set_beta(self, value: float) -> str | None:
        trainer: Any = self._trainer
        if not hasattr(trainer, "beta"):
            return "This stage has no beta."
        if value == trainer.beta:
            return None
        adapters = hasattr(trainer.accelerator.unwrap_model(trainer.model), "peft_config")
        reference = hasattr(trainer, "ref_model")
        if value != 0 and reference and trainer.ref_model is None and not adapters:
            return (
                f"beta remains {trainer.beta:g}. The stage started with beta 0, so there is no reference model for "
                "the KL divergence. To be able to change beta later, start a run with a small value."
            )
        trainer.beta = value
        trainer.args.beta = value
        self._liger("beta", value)
        return None

    def _set_attribute(self, name: str, value: float) -> str | None:
        """Sets a value that the loss reads from the trainer on every step."""
        attribute = ATTRIBUTES.get(name, name)
        if not hasattr(self._trainer, attribute):
            return f"This stage has no {name}."
        setattr(self._trainer, attribute, value)
        self._liger(attribute, value)
        return None

    def _set_temperature(self, value: float) -> str | None:
        """Sets the temperature for sampling and for the log-probabilities in the loss."""
        trainer: Any = self._trainer
        if not hasattr(trainer, "generation_config") and not hasattr(trainer, "vllm_generation"):
            return "This stage does not use sampling."
        trainer.temperature = value
        if hasattr(trainer, "generation_config"):
            trainer.generation_config.temperature = value
            trainer.generation_kwargs["temperature"] = value
        if hasattr(trainer, "vllm_generation"):
            trainer.vllm_generation.temperature = value
        self._liger("temperature", value)
        return None

    def _liger(self, name: str, value: float) -> None:
        loss = getattr(self._trainer, "liger_loss", None)
        if loss is not None:
            setattr(loss, name, value)
