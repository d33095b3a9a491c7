"""Opens a run's policy from a new model, a folder, a Hub id, or a checkpoint."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, PeftConfig, PeftModel, get_peft_model
from transformers import AutoConfig, BitsAndBytesConfig, PreTrainedConfig, PreTrainedModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
)

from ..data.limits import MODEL_FILE
from ..failure import Failure
from ..regular_file import read_regular
from .embedded import LabForCausalLM
from .folder_files import check_model_folder
from .hub import hub_failure, is_folder, looks_like_path
from .lab_checkpoint import config_of, is_lab_checkpoint, load_lab_checkpoint
from .memory import check_memory
from .policy import ADAPTER, Policy
from .precision import attention_of, precision_of, weights_dtype
from .template import PromptTemplate
from .tokenizer import first_line, lab_tokenizer, load_tokenizer, set_chat_template
from .vision import auto_class, forbid_image_tokens, load_processor, reads_pictures, with_picture

ADAPTERS = "adapter_config.json"

NO_LIMIT = 1_048_576
"""Context length for models whose configuration does not specify one."""


def load_policy(
    recipe: dict[str, Any], new_model: dict[str, Any] | None, device: torch.device, checkpoint: str | None = None
) -> Policy:
    """Loads the policy for a resolved recipe onto the CPU (or onto the device, if quantized). Weights come from
    `checkpoint` if given, or else from the recipe's model. `new_model` is the assignment's `newModel`. All errors are
    raised as Failure.
    """
    model_spec: dict[str, Any] = recipe["model"]
    template = PromptTemplate.of(recipe)
    pictured = reads_pictures(recipe)
    processor = None
    path = checkpoint or model_spec.get("path")
    revision = None if checkpoint else model_spec.get("revision")
    if path is None:
        if new_model is None:
            raise Failure("internal", "The assignment requests a new model without specifying its sizes.")
        model, tokenizer = _make(new_model, recipe["seed"]), lab_tokenizer(new_model["tokenizer"])
        _set_attention(model, recipe, device)
        name = "a new model"
    else:
        name = path
        if looks_like_path(path) and not is_folder(path):
            raise Failure("missing", f"The model folder {path} does not exist.", 'Correct "path" in "model".')
        if is_folder(path):
            check_model_folder(Path(path))
        if is_folder(path) and is_lab_checkpoint(Path(path)):
            model = _open_lab(path, recipe, device)
            tokenizer = lab_tokenizer(
                read_regular(Path(path) / "tokenizer.json", MODEL_FILE).decode("utf-8"), f"{path}/tokenizer.json"
            )
        else:
            if not (Path(path) / ADAPTERS).is_file():
                check = _check_pictured if pictured else _check_class
                check(_read_config(path, revision), path)
            processor = load_processor(path, revision) if pictured else None
            tokenizer = load_tokenizer(path, revision) if processor is None else processor.tokenizer
            model = _open(path, revision, recipe, device)
    if pictured and processor is None:
        raise Failure(
            "mismatch", f"The dataset has images, but {name} does not support them.", "Use a vision-language model."
        )
    _check_vocabulary(model, len(tokenizer), name)
    if processor is None:
        set_chat_template(tokenizer, template, recipe)
    else:
        set_chat_template(processor, template, recipe, with_picture)
        forbid_image_tokens(model, processor)
    model.config.use_cache = True
    adapted = _with_adapters(model, recipe, name)
    return Policy(adapted, tokenizer, template, name, context_of(model.config), processor)


def context_of(config: PreTrainedConfig) -> int:
    """Returns the maximum sequence length of a model, in tokens."""
    text = config.get_text_config()
    for key in ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length"):
        value = getattr(text, key, None)
        if isinstance(value, int) and value > 0:
            return value
    return NO_LIMIT


def _make(new_model: dict[str, Any], seed: int) -> PreTrainedModel:
    """Creates a new model. Its weights depend only on sizes and seed."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return LabForCausalLM(config_of(new_model["shape"]))


def _open_lab(path: str, recipe: dict[str, Any], device: torch.device) -> PreTrainedModel:
    """Opens the policy in an embedded-engine checkpoint."""
    model = load_lab_checkpoint(Path(path), weights_dtype(recipe, precision_of(recipe, device)))
    _set_attention(model, recipe, device)
    return model


def _set_attention(model: PreTrainedModel, recipe: dict[str, Any], device: torch.device) -> None:
    """Sets the attention implementation for the embedded engine's architecture, but only if explicitly requested,
    because its heads can be too narrow for flash attention.
    """
    asked = (recipe.get("pytorch") or {}).get("attention", "auto")
    if asked != "auto":
        model.set_attn_implementation(attention_of(recipe, device, precision_of(recipe, device)))


def _open(path: str, revision: str | None, recipe: dict[str, Any], device: torch.device) -> PreTrainedModel:
    """Opens a causal language model from a folder or Hub id, including any adapters."""
    adapter = Path(path) / ADAPTERS
    if not adapter.is_file():
        return _open_whole(path, revision, recipe, device)
    base = _adapter_base(adapter, recipe)
    if is_folder(base):
        check_model_folder(Path(base))
    if is_lab_checkpoint(Path(base)):
        model = _open_lab(base, recipe, device)
    else:
        model = _open_whole(base, recipe["model"].get("revision"), recipe, device)
    trained = (recipe.get("pytorch") or {}).get("lora") is not None
    try:
        adapted = PeftModel.from_pretrained(model, path, adapter_name=ADAPTER, is_trainable=trained)
    except Exception as error:
        raise Failure(
            "mismatch", f"The adapters in {path} are not compatible with model {base}: {first_line(error)}.", None
        ) from error
    return adapted if trained else adapted.merge_and_unload()


def _adapter_base(file: Path, recipe: dict[str, Any]) -> str:
    try:
        config = PeftConfig.from_pretrained(str(file.parent))
    except Exception as error:
        raise Failure("corrupt", f"Cannot read {file}: {first_line(error)}.", "Use a different checkpoint.") from error
    lora = (recipe.get("pytorch") or {}).get("lora")
    if lora is not None and getattr(config, "r", lora["r"]) != lora["r"]:
        raise Failure(
            "mismatch",
            f"The adapters in {file.parent} have rank {config.r}, but the recipe sets {lora['r']}.",
            f'Set "r" in "lora" to {config.r}.',
        )
    base = config.base_model_name_or_path
    if not base or (looks_like_path(base) and not is_folder(base)):
        raise Failure(
            "missing",
            f"The adapters in {file.parent} require model {base or '(unnamed)'}, which was not found.",
            "Restore the model, or merge the adapters on a machine that has it.",
        )
    return base


def _read_config(path: str, revision: str | None) -> PreTrainedConfig:
    file = Path(path) / "config.json"
    if is_folder(path):
        if not file.is_file():
            raise Failure(
                "missing",
                f"The folder {path} does not contain a model: config.json is missing.",
                "Use a folder written by `save_pretrained`, or a run's checkpoint (<run>/checkpoints/step_000100).",
            )
        try:
            raw = json.loads(read_regular(file, 16 << 20))
        except (Failure, OSError, ValueError) as error:
            raise Failure("corrupt", f"{file} is not valid JSON.", "Use a different model folder.") from error
        kind = raw.get("model_type") if isinstance(raw, dict) else None
        if not isinstance(kind, str):
            raise Failure("invalid", f'{file} has no "model_type".', "Use a folder written by `save_pretrained`.")
        if kind not in CONFIG_MAPPING:
            own = " and requires custom code, which this engine does not run" if raw.get("auto_map") else ""
            raise Failure(
                "unsupported",
                f'Model {path} has type "{kind}", which the installed transformers version does not support{own}.',
                "Update transformers, or use a model with a different architecture.",
            )
    try:
        return AutoConfig.from_pretrained(path, revision=revision, trust_remote_code=False)
    except Exception as error:
        raise hub_failure(error, "model", path) from error


def _check_class(config: PreTrainedConfig, path: str) -> None:
    """Raises `mismatch` for models other than causal language models."""
    named = config.architectures or []
    generates = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
    wrong = named and not any(name.endswith(generates) for name in named)
    if config.is_encoder_decoder or wrong or type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING:
        what = named[0] if named else f'"{config.model_type}"'
        raise Failure(
            "mismatch",
            f"Model {path} is a {what}, which does not generate text from left to right.",
            "Use a causal language model (the class in its config.json ends in ForCausalLM).",
        )


def _check_pictured(config: PreTrainedConfig, path: str) -> None:
    """Raises `mismatch` for models that do not support image input."""
    if type(config) not in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING:
        raise Failure(
            "mismatch",
            f'The dataset has images, but model {path} ("{config.model_type}") does not support image input.',
            'Use a vision-language model, or remove "image" from "dataset".',
        )


def _quantization(recipe: dict[str, Any], dtype: torch.dtype) -> BitsAndBytesConfig | None:
    """Returns the QLoRA quantization config (Dettmers et al. 2023): 4-bit NormalFloat, double quantization, computing
    in `dtype`.
    """
    kind = ((recipe.get("pytorch") or {}).get("lora") or {}).get("quantize", "none")
    if kind == "none":
        return None
    if find_spec("bitsandbytes") is None:
        raise Failure(
            "unavailable",
            f"Loading weights in {kind} requires the bitsandbytes package, which is not installed.",
            'Install it in the engine environment, or set "quantize" in "lora" to "none".',
        )
    if kind == "8bit":
        return BitsAndBytesConfig(load_in_8bit=True)
    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=dtype,
    )


def _open_whole(path: str, revision: str | None, recipe: dict[str, Any], device: torch.device) -> PreTrainedModel:
    precision = precision_of(recipe, device)
    dtype = weights_dtype(recipe, precision)
    config = _read_config(path, revision)
    check_memory(config, recipe, device, path)
    quantization = _quantization(recipe, dtype)
    options = {} if quantization is None else {"quantization_config": quantization, "device_map": {"": device}}
    try:
        model, report = auto_class(recipe).from_pretrained(
            path,
            revision=revision,
            config=config,
            dtype=dtype,
            attn_implementation=attention_of(recipe, device, precision),
            trust_remote_code=False,
            output_loading_info=True,
            **options,
        )
    except torch.OutOfMemoryError:
        raise
    except Exception as error:
        raise _load_failure(error, path) from error
    missing = sorted(report.get("missing_keys") or [])
    if missing:
        # Missing tensors would silently be initialized at random.
        raise Failure(
            "mismatch",
            f"The weights in {path} are missing {len(missing)} tensors that the model requires, such as {missing[0]}.",
            "Use a folder whose weights match its config.json.",
        )
    return model


def _load_failure(error: Exception, path: str) -> Failure:
    text = str(error)
    if "size mismatch" in text or "mismatched" in text.lower():
        return Failure(
            "mismatch",
            f"The weights in {path} do not have the shapes that its config.json specifies.",
            "Use a folder whose weights match its config.json.",
        )
    if "Error no file named" in text:
        return Failure(
            "missing",
            f"The model folder {path} does not contain any weights.",
            "Copy its .safetensors files to that folder.",
        )
    if is_folder(path) and ("safetensors" in text.lower() or "header" in text.lower() or "pytorch_model" in text):
        return Failure("corrupt", f"Cannot read the weights in {path}: {first_line(error)}.", "Copy the files again.")
    return hub_failure(error, "model", path)


def _check_vocabulary(model: PreTrainedModel | PeftModel, tokens: int, name: str) -> None:
    rows = model.get_input_embeddings().weight.shape[0]
    if tokens > rows:
        raise Failure(
            "mismatch",
            f"The tokenizer for {name} has {tokens} tokens, but the model has {rows}.",
            "Copy the model's original tokenizer to its folder.",
        )


def _with_adapters(
    model: PreTrainedModel | PeftModel, recipe: dict[str, Any], name: str
) -> PreTrainedModel | PeftModel:
    lora = (recipe.get("pytorch") or {}).get("lora")
    if lora is None or isinstance(model, PeftModel):
        return model
    targets = lora["targets"]
    if isinstance(targets, list):
        known = {module.rpartition(".")[2] for module, _ in model.named_modules()}
        unknown = [target for target in targets if target.rpartition(".")[2] not in known]
        if unknown:
            linear = sorted({n.rpartition(".")[2] for n, m in model.named_modules() if isinstance(m, torch.nn.Linear)})
            raise Failure(
                "invalid",
                f'Model {name} has no module "{unknown[0]}", which is listed under "targets" in "lora".',
                f"Available modules: {', '.join(linear)}.",
            )
    with torch.random.fork_rng():
        torch.manual_seed(recipe["seed"])
        return get_peft_model(model, lora_config(lora, "CAUSAL_LM"), adapter_name=ADAPTER)


def lora_config(lora: dict[str, Any], task: str) -> LoraConfig:
    """Returns the adapter configuration (Hu et al. 2021) from a resolved recipe. `task`: CAUSAL_LM, SEQ_CLS or
    TOKEN_CLS.
    """
    return LoraConfig(
        r=lora["r"],
        lora_alpha=lora["alpha"],
        lora_dropout=lora["dropout"],
        target_modules=lora["targets"],
        # peft fully trains a head's new output layer.
        exclude_modules=None if task == "CAUSAL_LM" else ["score", "classifier"],
        task_type=task,
    )
