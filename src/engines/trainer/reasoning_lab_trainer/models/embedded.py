"""The embedded engine's architecture as a Hugging Face model.

A decoder with learned absolute positions, pre-norm blocks (RMS norm), attention with a single matrix for queries,
keys and values, and a SiLU feed-forward layer without a gate. The output matrix is not tied to the embedding, and
there are no biases. `src/engines/embedded/model/transformer.ts` implements the same model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    GenerationMixin,
    PreTrainedConfig,
    PreTrainedModel,
)
from transformers.cache_utils import Cache, DynamicCache
from transformers.masking_utils import create_causal_mask
from transformers.modeling_layers import (
    GenericForSequenceClassification,
    GenericForTokenClassification,
    GradientCheckpointingLayer,
)
from transformers.modeling_outputs import BaseModelOutputWithPast, CausalLMOutputWithPast
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.utils import can_return_tuple

NORM_EPSILON = 1e-5
"""Must match `src/engines/embedded/model/rmsNorm.ts`."""


class LabConfig(PreTrainedConfig):
    """Model sizes, under the names that Hugging Face tools expect."""

    model_type = "reasoning-lab"
    keys_to_ignore_at_inference: ClassVar[list[str]] = ["past_key_values"]

    vocab_size: int = 0
    hidden_size: int = 0
    intermediate_size: int = 0
    num_hidden_layers: int = 0
    num_attention_heads: int = 1
    max_position_embeddings: int = 0
    rms_norm_eps: float = NORM_EPSILON
    initializer_range: float = 0.02
    use_cache: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = 1
    eos_token_id: int | list[int] | None = 2
    tie_word_embeddings: bool = False
    token_classification_bias: bool = True

    @property
    def head_dim(self) -> int:
        return self.hidden_size // self.num_attention_heads

    @property
    def num_key_value_heads(self) -> int:
        return self.num_attention_heads


class LabNorm(nn.Module):
    """Computes x / sqrt(mean(x^2) + epsilon) * weight over the last axis (Zhang and Sennrich 2019, eq. 4), in f32."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.epsilon = epsilon

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        scaled = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.epsilon)
        return self.weight * scaled.to(x.dtype)


def eager_attention(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float,
    dropout: float = 0.0,
    **kwargs: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Computes scaled dot-product attention (Vaswani et al. 2017, eq. 1) on tensors of shape [rows, heads, tokens, head
    width].
    """
    scores = torch.matmul(query, key.transpose(2, 3)) * scaling
    if attention_mask is not None:
        scores = scores + attention_mask
    weights = nn.functional.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)
    weights = nn.functional.dropout(weights, p=dropout, training=module.training)
    return torch.matmul(weights, value).transpose(1, 2).contiguous(), weights


def matrix(inputs: int, outputs: int, deviation: float) -> nn.Linear:
    """Creates a linear layer without bias that stores the standard deviation of its initial weights."""
    layer = nn.Linear(inputs, outputs, bias=False)
    layer.deviation = deviation
    return layer


class LabAttention(nn.Module):
    def __init__(self, config: LabConfig, layer_idx: int) -> None:
        super().__init__()
        self.config = config
        self.layer_idx = layer_idx
        self.head_dim = config.head_dim
        self.scaling = self.head_dim**-0.5
        self.is_causal = True
        self.num_key_value_groups = 1
        width = config.hidden_size
        self.qkv_proj = matrix(width, 3 * width, width**-0.5)
        self.o_proj = matrix(width, width, (2 * config.num_hidden_layers * width) ** -0.5)

    def forward(
        self,
        hidden_states: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        past_key_values: Cache | None = None,
        **kwargs: Any,
    ) -> torch.Tensor:
        shape = hidden_states.shape[:-1]
        queries, keys, values = (
            part.view(*shape, -1, self.head_dim).transpose(1, 2) for part in self.qkv_proj(hidden_states).chunk(3, -1)
        )
        if past_key_values is not None:
            keys, values = past_key_values.update(keys, values, self.layer_idx)
        attend: Callable = ALL_ATTENTION_FUNCTIONS.get_interface(self.config._attn_implementation, eager_attention)
        read, _ = attend(self, queries, keys, values, attention_mask, dropout=0.0, scaling=self.scaling, **kwargs)
        return self.o_proj(read.reshape(*shape, -1).contiguous())


class LabBlock(GradientCheckpointingLayer):
    def __init__(self, config: LabConfig, layer_idx: int) -> None:
        super().__init__()
        self.input_layernorm = LabNorm(config.hidden_size, config.rms_norm_eps)
        self.self_attn = LabAttention(config, layer_idx)
        self.post_attention_layernorm = LabNorm(config.hidden_size, config.rms_norm_eps)
        width, inner = config.hidden_size, config.intermediate_size
        self.up_proj = matrix(width, inner, width**-0.5)
        self.down_proj = matrix(inner, width, (2 * config.num_hidden_layers * inner) ** -0.5)

    def forward(self, hidden_states: torch.Tensor, **kwargs: Any) -> torch.Tensor:
        hidden_states = hidden_states + self.self_attn(self.input_layernorm(hidden_states), **kwargs)
        inner = nn.functional.silu(self.up_proj(self.post_attention_layernorm(hidden_states)))
        return hidden_states + self.down_proj(inner)


class LabPreTrainedModel(PreTrainedModel):
    config_class = LabConfig
    config: LabConfig
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    _no_split_modules: ClassVar[list[str]] = ["LabBlock"]
    _skip_keys_device_placement: ClassVar[list[str]] = ["past_key_values"]
    _supports_flash_attn = True
    _supports_sdpa = True
    _supports_flex_attn = True
    _supports_attention_backend = True

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """
        Initializes weights with the standard deviations in `src/engines/embedded/model/parameters.ts`:
        1/sqrt(inputs), or 1/sqrt(2 layers inputs) where a block writes to the residual stream (Radford et al. 2019,
        section 2.3), and 0.02 for embeddings and output.
        """
        # Set only the module's own weights, because the loader keeps track of loaded weights per module.
        if isinstance(module, LabNorm):
            nn.init.ones_(module.weight)
        elif isinstance(module, (nn.Embedding, nn.Linear)):
            nn.init.normal_(module.weight, std=getattr(module, "deviation", self.config.initializer_range))
            if getattr(module, "bias", None) is not None:
                nn.init.zeros_(module.bias)


def places(attention_mask: torch.Tensor, tokens: int) -> torch.Tensor:
    """Returns the position of each of the last `tokens` tokens in the mask [rows, all tokens], not counting padding."""
    return (attention_mask.long().cumsum(-1) - 1).clamp(min=0)[:, -tokens:]


class LabModel(LabPreTrainedModel):
    """The decoder: maps token ids [rows, tokens] to hidden states [rows, tokens, width]."""

    def __init__(self, config: LabConfig) -> None:
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.embed_positions = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.layers = nn.ModuleList(LabBlock(config, layer) for layer in range(config.num_hidden_layers))
        self.norm = LabNorm(config.hidden_size, config.rms_norm_eps)
        self.gradient_checkpointing = False
        self.post_init()

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embed_tokens

    def set_input_embeddings(self, value: nn.Embedding) -> None:
        self.embed_tokens = value

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.LongTensor | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: torch.FloatTensor | None = None,
        use_cache: bool | None = None,
        **kwargs: Any,
    ) -> BaseModelOutputWithPast:
        if inputs_embeds is None:
            inputs_embeds = self.embed_tokens(input_ids)
        kwargs.pop("output_attentions", None)
        collect = kwargs.pop("output_hidden_states", None) or False
        if use_cache is None:
            use_cache = self.config.use_cache and not (self.gradient_checkpointing and self.training)
        if use_cache and past_key_values is None:
            past_key_values = DynamicCache(config=self.config)
        tokens = inputs_embeds.shape[1]
        # Trainers pass a mask but no positions. Positions are absolute, so left padding must not count.
        explicit = position_ids
        if position_ids is None:
            if attention_mask is not None and attention_mask.dim() == 2:
                position_ids = places(attention_mask, tokens)
            else:
                seen = past_key_values.get_seq_length() if past_key_values is not None else 0
                position_ids = torch.arange(seen, seen + tokens, device=inputs_embeds.device).unsqueeze(0)
        causal_mask = create_causal_mask(
            config=self.config,
            inputs_embeds=inputs_embeds,
            attention_mask=attention_mask,
            past_key_values=past_key_values,
            # Explicit positions can mark where packed sequences start.
            position_ids=explicit,
        )
        hidden = inputs_embeds + self.embed_positions(position_ids)
        states: list[torch.Tensor] = []
        for block in self.layers:
            if collect:
                states.append(hidden)
            hidden = block(
                hidden,
                attention_mask=causal_mask,
                position_ids=position_ids,
                past_key_values=past_key_values,
                use_cache=use_cache,
                **kwargs,
            )
        hidden = self.norm(hidden)
        if collect:
            states.append(hidden)
        return BaseModelOutputWithPast(
            last_hidden_state=hidden,
            past_key_values=past_key_values if use_cache else None,
            hidden_states=tuple(states) if collect else None,
        )


class LabForCausalLM(LabPreTrainedModel, GenerationMixin):
    """The policy: maps token ids [rows, tokens] to logits [rows, tokens, vocabulary]."""

    _tied_weights_keys: ClassVar[dict[str, str]] = {}

    def __init__(self, config: LabConfig) -> None:
        super().__init__(config)
        self.model = LabModel(config)
        self.vocab_size = config.vocab_size
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.LongTensor | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: torch.FloatTensor | None = None,
        labels: torch.LongTensor | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int | torch.Tensor = 0,
        **kwargs: Any,
    ) -> CausalLMOutputWithPast:
        outputs: BaseModelOutputWithPast = self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            position_ids=position_ids,
            past_key_values=past_key_values,
            inputs_embeds=inputs_embeds,
            use_cache=use_cache,
            **{key: value for key, value in kwargs.items() if key not in _LOSS_OPTIONS},
        )
        kept = slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) else logits_to_keep
        logits = self.lm_head(outputs.last_hidden_state[:, kept, :])
        loss = None
        if labels is not None:
            loss = self.loss_function(logits=logits, labels=labels, vocab_size=self.config.vocab_size, **kwargs)
        return CausalLMOutputWithPast(
            loss=loss,
            logits=logits,
            past_key_values=outputs.past_key_values,
            hidden_states=outputs.hidden_states,
        )


_LOSS_OPTIONS = frozenset({"num_items_in_batch", "shift_labels", "ignore_index"})
"""Keyword arguments for the loss, which must not be passed to attention."""


class LabForSequenceClassification(GenericForSequenceClassification, LabPreTrainedModel):
    """Reward model with one output per sequence."""


class LabForTokenClassification(GenericForTokenClassification, LabPreTrainedModel):
    """Process reward model with class outputs per token."""


def register() -> None:
    """Registers the classes with the Hugging Face loaders. Idempotent."""
    AutoConfig.register(LabConfig.model_type, LabConfig, exist_ok=True)
    AutoModel.register(LabConfig, LabModel, exist_ok=True)
    AutoModelForCausalLM.register(LabConfig, LabForCausalLM, exist_ok=True)
    AutoModelForSequenceClassification.register(LabConfig, LabForSequenceClassification, exist_ok=True)
    AutoModelForTokenClassification.register(LabConfig, LabForTokenClassification, exist_ok=True)


register()
