"""Models and tokenizers: what can be opened, what it computes, and messages for folders that are not models."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import fails
from peft import PeftModel
from reasoning_lab_trainer.models.heads import make_head, save_head
from reasoning_lab_trainer.models.lab_checkpoint import load_lab_checkpoint, names, save_lab_weights
from reasoning_lab_trainer.models.load import load_policy
from reasoning_lab_trainer.models.policy import Policy
from reasoning_lab_trainer.models.precision import precision_of, weights_dtype
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertForMaskedLM

CPU = torch.device("cpu")
GOLDEN = Path(__file__).parents[2] / "fixtures" / "trainer"
LORA = {"r": 4, "alpha": 8, "dropout": 0, "targets": "all-linear", "quantize": "none"}


def logprobs(policy: Policy, text: str) -> torch.Tensor:
    ids = policy.tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        return policy.model.eval()(**ids).logits.log_softmax(-1)


def test_new_model_depends_on_the_seed_alone(recipe: dict[str, Any], new_model: dict[str, Any]) -> None:
    before = torch.random.get_rng_state()
    first = load_policy(recipe, new_model, CPU)
    assert torch.equal(torch.random.get_rng_state(), before)
    second = load_policy(recipe, new_model, CPU)
    assert all(torch.equal(a, b) for a, b in zip(first.model.parameters(), second.model.parameters(), strict=True))
    other = load_policy({**recipe, "seed": 2}, new_model, CPU)
    assert not torch.equal(first.model.lm_head.weight, other.model.lm_head.weight)
    shape = new_model["shape"]
    block = 2 * shape["width"] + 4 * shape["width"] ** 2 + 2 * shape["width"] * shape["feedForward"]
    rows = 2 * shape["vocabulary"] + shape["context"] + 1
    assert first.parameters == first.trained == rows * shape["width"] + shape["layers"] * block
    assert first.context == 48


def test_new_models_start_with_the_embedded_engines_deviations(recipe: dict[str, Any]) -> None:
    shape = {"vocabulary": 22, "context": 64, "width": 256, "heads": 4, "layers": 2, "feedForward": 512}
    from conftest import lab_tokenizer_json

    model = load_policy(recipe, {"tokenizer": lab_tokenizer_json(), "shape": shape}, CPU).model
    block = model.model.layers[0]
    for weight, deviation in (
        (model.model.embed_tokens.weight, 0.02),
        (model.lm_head.weight, 0.02),
        (block.self_attn.qkv_proj.weight, 256**-0.5),
        (block.self_attn.o_proj.weight, (2 * 2 * 256) ** -0.5),
        (block.up_proj.weight, 256**-0.5),
        (block.down_proj.weight, (2 * 2 * 512) ** -0.5),
    ):
        assert weight.std().item() == pytest.approx(deviation, rel=0.05)


def test_lab_tokenizer_encodes_tags_as_one_token(recipe: dict[str, Any], new_model: dict[str, Any]) -> None:
    tokenizer = load_policy(recipe, new_model, CPU).tokenizer
    ids = tokenizer("1+2=<think>")["input_ids"]
    assert ids[0] == 1
    assert len(ids) == 6
    assert tokenizer.decode(ids, skip_special_tokens=True) == "1+2=<think>"
    with pytest.raises(Exception, match="UNK"):
        tokenizer("a")


def test_left_padding_and_cache_change_nothing(recipe: dict[str, Any], new_model: dict[str, Any]) -> None:
    policy = load_policy(recipe, new_model, CPU)
    model = policy.model.eval()
    ids = torch.tensor([[0, 0, 1, 7, 8, 9], [1, 7, 8, 9, 10, 11]])
    mask = (ids != 0).long()
    with torch.no_grad():
        padded = model(input_ids=ids, attention_mask=mask).logits
        alone = model(input_ids=ids[:1, 2:]).logits
        assert torch.allclose(padded[0, 2:], alone[0], atol=1e-5)
        out = model.generate(
            input_ids=ids,
            attention_mask=mask,
            max_new_tokens=8,
            min_new_tokens=8,
            do_sample=False,
            output_logits=True,
            return_dict_in_generate=True,
        )
        whole = model(
            input_ids=out.sequences, attention_mask=torch.cat([mask, torch.ones(2, 8, dtype=torch.long)], 1)
        ).logits
    assert torch.allclose(torch.stack(out.logits, 1), whole[:, 5:-1], atol=1e-5)


def test_log_probabilities_are_the_embedded_engines(recipe: dict[str, Any]) -> None:
    """Loads a checkpoint trained by the embedded engine, whose values are in fixtures/trainer/lab.json."""
    recipe["model"] = {"path": str(GOLDEN / "lab")}
    policy = load_policy(recipe, None, CPU)
    assert policy.context == policy.model.config.max_position_embeddings
    worst = 0.0
    for scores in json.loads((GOLDEN / "lab.json").read_text()):
        for row in scores["rows"]:
            prompt = policy.tokenizer(row["prompt"])["input_ids"]
            ids = torch.tensor([[*policy.tokenizer(row["prompt"] + row["completion"])["input_ids"], 2]])
            with torch.no_grad():
                logits = policy.model(ids).logits[0] / scores["temperature"]
            own = logits.log_softmax(-1)[:-1].gather(1, ids[0, 1:, None])[:, 0][len(prompt) - 1 :]
            assert own.shape == (len(row["logprobs"]),)
            worst = max(worst, (own - torch.tensor(row["logprobs"])).abs().max().item())
    assert worst < 1e-4
    assert (
        policy.model.eval()
        .generate(**policy.tokenizer("3+4=", return_tensors="pt"), do_sample=False, max_new_tokens=40)[0]
        .tolist()
        .count(2)
        == 1
    ), "the model has learned to end"


def test_attention_and_precision_are_those_of_the_recipe(recipe: dict[str, Any], new_model: dict[str, Any]) -> None:
    recipe["pytorch"]["attention"] = "eager"
    eager = load_policy(recipe, new_model, CPU)
    assert eager.model.config._attn_implementation == "eager"
    recipe["pytorch"]["attention"] = "auto"
    assert torch.allclose(logprobs(eager, "1+2="), logprobs(load_policy(recipe, new_model, CPU), "1+2="), atol=1e-5)
    recipe["pytorch"]["attention"] = "flash_attention_2"
    with fails("unsupported", "requires a CUDA GPU", "sdpa"):
        load_policy(recipe, new_model, CPU)
    assert precision_of(recipe, CPU) == "float32"
    recipe["pytorch"]["precision"] = "float16"
    with fails("unsupported", "float16 requires a CUDA GPU"):
        precision_of(recipe, CPU)
    recipe["pytorch"] |= {"precision": "bfloat16", "attention": "auto", "lora": LORA}
    assert weights_dtype(recipe, precision_of(recipe, CPU)) == torch.bfloat16
    recipe["model"] = {"path": str(GOLDEN / "lab")}
    adapted = load_policy(recipe, None, CPU).model
    assert {str(parameter.dtype) for parameter in adapted.parameters() if not parameter.requires_grad} == {
        "torch.bfloat16"
    }


def test_quantized_weights_need_their_package(recipe: dict[str, Any], llama_folder: Path) -> None:
    if find_spec("bitsandbytes") is not None:
        pytest.skip("bitsandbytes is installed")
    recipe["model"] = {"path": str(llama_folder)}
    recipe["pytorch"]["lora"] = {**LORA, "quantize": "4bit"}
    with fails("unavailable", "bitsandbytes", '"quantize"'):
        load_policy(recipe, None, CPU)


def test_packed_sequences_do_not_see_each_other(recipe: dict[str, Any], new_model: dict[str, Any]) -> None:
    model = load_policy(recipe, new_model, CPU).model.eval()
    ids = torch.tensor([[1, 7, 8, 9, 1, 10, 11]])
    with torch.no_grad():
        packed = model(ids, position_ids=torch.tensor([[0, 1, 2, 3, 0, 1, 2]]), use_cache=False).logits
        alone = model(ids[:, 4:]).logits
    assert torch.allclose(packed[0, 4:], alone[0], atol=1e-5)


def test_lab_weights_survive_saving(tmp_path: Path, recipe: dict[str, Any], new_model: dict[str, Any]) -> None:
    policy = load_policy(recipe, new_model, CPU)
    save_lab_weights(policy.model, tmp_path / "model.safetensors")
    (tmp_path / "state.json").write_text(json.dumps({"shape": new_model["shape"]}))
    (tmp_path / "tokenizer.json").write_text(new_model["tokenizer"])
    stored = load_file(tmp_path / "model.safetensors")
    assert list(stored["blocks.0.attention.qkv"].shape) == [32, 96]
    assert set(stored) == {there for there, _, _ in names(2)}
    again = load_policy({**recipe, "model": {"path": str(tmp_path)}}, None, CPU)
    assert torch.equal(logprobs(again, "1+2="), logprobs(policy, "1+2="))

    stored["head"] = stored["head"][:, :-1].contiguous()
    save_file(stored, tmp_path / "model.safetensors")
    with fails("mismatch", "no tensor head of shape"):
        load_lab_checkpoint(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"12345")
    with fails("corrupt", "damaged"):
        load_lab_checkpoint(tmp_path)
    (tmp_path / "state.json").write_text('{"shape": {"vocabulary": -1}}')
    with fails("corrupt", "valid model sizes"):
        load_lab_checkpoint(tmp_path)


@pytest.mark.parametrize("lora", [None, LORA])
def test_saved_policy_opens_again(
    tmp_path: Path, recipe: dict[str, Any], llama_folder: Path, lora: dict[str, Any] | None
) -> None:
    recipe["model"] = {"path": str(llama_folder)}
    recipe["pytorch"]["lora"] = lora
    policy = load_policy(recipe, None, CPU)
    assert policy.adapted == (lora is not None)
    assert (policy.trained < policy.parameters) == (lora is not None)
    with torch.no_grad():
        for name, parameter in policy.model.named_parameters():
            if parameter.requires_grad and "norm" not in name:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    policy.save(tmp_path)
    again = load_policy(recipe, None, CPU, checkpoint=str(tmp_path))
    assert again.adapted == policy.adapted
    assert again.trained == policy.trained
    assert torch.allclose(logprobs(again, "1+2="), logprobs(policy, "1+2="), atol=1e-6)
    # The model for another recipe, without adapters because they are merged.
    recipe["model"], recipe["pytorch"]["lora"] = {"path": str(tmp_path)}, None
    merged = load_policy(recipe, None, CPU)
    assert not isinstance(merged.model, PeftModel)
    assert torch.allclose(logprobs(merged, "1+2="), logprobs(policy, "1+2="), atol=1e-5)


def test_reference_is_frozen_and_apart(recipe: dict[str, Any], llama_folder: Path) -> None:
    recipe["model"] = {"path": str(llama_folder)}
    policy = load_policy(recipe, None, CPU)
    reference = policy.reference()
    assert reference is not None
    with torch.no_grad():
        policy.model.lm_head.weight.add_(1)
    assert not torch.equal(reference.lm_head.weight, policy.model.lm_head.weight)
    assert not any(parameter.requires_grad for parameter in reference.parameters())
    recipe["pytorch"]["lora"] = LORA
    adapted = load_policy(recipe, None, CPU)
    assert adapted.reference() is None
    adapted.model.add_adapter("ref", adapted.model.peft_config["default"])
    adapted.forget_reference()
    assert list(adapted.model.peft_config) == ["default"]
    assert adapted.trained > 0


@pytest.mark.parametrize("lora", [None, LORA])
@pytest.mark.parametrize(("name", "labels"), [("reward-model", 1), ("process-reward-model", 2)])
def test_heads_begin_with_the_policys_layers(
    tmp_path: Path,
    recipe: dict[str, Any],
    new_model: dict[str, Any],
    llama_folder: Path,
    name: Any,
    labels: int,
    lora: Any,
) -> None:
    recipe["pytorch"]["lora"] = lora
    if lora is not None:
        recipe["model"] = {"path": str(llama_folder)}
    policy = load_policy(recipe, None if lora else new_model, CPU)
    head = make_head(policy, name, recipe).eval()
    ids = policy.tokenizer(["1+2=", "11+12="], padding=True, return_tensors="pt")
    out = head(**ids).logits
    assert out.shape[-1] == labels
    trunk = head.base_model.model.model if lora else head.model
    own = policy.model.base_model.model.model if lora else policy.model.model
    assert torch.equal(trunk.embed_tokens.weight, own.embed_tokens.weight)
    save_head(head, policy.tokenizer, tmp_path / name)
    again = make_head(policy, name, recipe, tmp_path / name).eval()
    assert torch.allclose(again(**ids).logits, out, atol=1e-6)
    assert sum(p.requires_grad for p in again.parameters()) == sum(p.requires_grad for p in head.parameters())
    # A reward model is not a policy, as the error explains.
    with fails("mismatch", "does not generate text"):
        load_policy({**recipe, "model": {"path": str(tmp_path / name)}}, None, CPU)


class TestBadFolders:
    def load(self, recipe: dict[str, Any], path: Path | str, **model: Any) -> Policy:
        return load_policy({**recipe, "model": {"path": str(path), **model}}, None, CPU)

    def copied(self, source: Path, tmp_path: Path) -> Path:
        return Path(shutil.copytree(source, tmp_path / "model"))

    def test_no_folder(self, recipe: dict[str, Any]) -> None:
        with fails("missing", "The model folder /nowhere/at/all does not exist"):
            self.load(recipe, "/nowhere/at/all")

    def test_without_tokenizer(self, recipe: dict[str, Any], llama_folder: Path, tmp_path: Path) -> None:
        folder = self.copied(llama_folder, tmp_path)
        (folder / "tokenizer.json").unlink()
        with fails("missing", "has no tokenizer", "tokenizer.json"):
            self.load(recipe, folder)

    def test_damaged_tokenizer(self, recipe: dict[str, Any], llama_folder: Path, tmp_path: Path) -> None:
        folder = self.copied(llama_folder, tmp_path)
        (folder / "tokenizer.json").write_text("{")
        with fails("invalid", "tokenizer"):
            self.load(recipe, folder)

    def test_without_config(self, recipe: dict[str, Any], llama_folder: Path, tmp_path: Path) -> None:
        folder = self.copied(llama_folder, tmp_path)
        (folder / "config.json").unlink()
        with fails("missing", "does not contain a model", "config.json"):
            self.load(recipe, folder)
        (folder / "config.json").write_text("nonsense")
        with fails("corrupt", "not valid JSON"):
            self.load(recipe, folder)

    def test_bert(self, recipe: dict[str, Any], llama_folder: Path, tmp_path: Path) -> None:
        folder = self.copied(llama_folder, tmp_path)
        config = BertConfig(
            vocab_size=400, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
        )
        BertForMaskedLM(config).save_pretrained(folder)
        with fails("mismatch", "BertForMaskedLM", "left to right"):
            self.load(recipe, folder)

    def test_remote_code(self, recipe: dict[str, Any], llama_folder: Path, tmp_path: Path) -> None:
        folder = self.copied(llama_folder, tmp_path)
        config = json.loads((folder / "config.json").read_text())
        config |= {"model_type": "own-thing", "auto_map": {"AutoModelForCausalLM": "own.Model"}}
        (folder / "config.json").write_text(json.dumps(config))
        (folder / "own.py").write_text("raise SystemExit('ran')")
        with fails("unsupported", "own-thing", "requires custom code"):
            self.load(recipe, folder)

    def test_other_shapes(self, recipe: dict[str, Any], llama_folder: Path, tmp_path: Path) -> None:
        folder = self.copied(llama_folder, tmp_path)
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, "intermediate_size": 96}))
        with fails("mismatch", "do not have the shapes"):
            self.load(recipe, folder)
        (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
        with fails("mismatch", "are missing", "model.layers.2"):
            self.load(recipe, folder)

    def test_files_that_bomb_or_are_pipes(self, recipe: dict[str, Any], llama_folder: Path, tmp_path: Path) -> None:
        def opened(name: str, make: Callable[[Path], object]) -> None:
            folder = tmp_path / name.replace(".", "-")
            shutil.copytree(llama_folder, folder)
            (folder / name).unlink(missing_ok=True)
            make(folder / name)
            load_policy({**recipe, "model": {"path": str(folder)}}, None, CPU)

        with fails("corrupt", "is damaged", "its header claims"):
            opened("model.safetensors", lambda file: file.write_bytes((90 << 20).to_bytes(8, "little")))
        with fails("unsupported", "tokenizer.json is", "bytes"):
            opened("tokenizer.json", lambda file: file.write_bytes(bytes(65 << 20)))
        for name in ("config.json", "tokenizer.json", "model.safetensors", "generation_config.json"):
            with fails("invalid", f"{name} is not a regular file"):
                shutil.rmtree(tmp_path / name.replace(".", "-"), ignore_errors=True)
                opened(name, os.mkfifo)

    def test_damaged_weights(self, recipe: dict[str, Any], llama_folder: Path, tmp_path: Path) -> None:
        folder = self.copied(llama_folder, tmp_path)
        file = folder / "model.safetensors"
        file.write_bytes(file.read_bytes()[:1000])
        with fails("corrupt", "Cannot read the weights in"):
            self.load(recipe, folder)
        file.unlink()
        with fails("missing", "does not contain any weights"):
            self.load(recipe, folder)

    def test_too_large(self, recipe: dict[str, Any], llama_folder: Path, tmp_path: Path) -> None:
        folder = self.copied(llama_folder, tmp_path)
        config = json.loads((folder / "config.json").read_text())
        wide = {"hidden_size": 65_536, "intermediate_size": 262_144, "num_hidden_layers": 200}
        (folder / "config.json").write_text(json.dumps(config | wide))
        with fails("full", "billion parameters", "GiB", "lora"):
            self.load(recipe, folder)

    def test_other_vocabulary(self, recipe: dict[str, Any], llama_folder: Path, tmp_path: Path) -> None:
        folder = self.copied(llama_folder, tmp_path)
        tokenizer = json.loads((folder / "tokenizer.json").read_text())
        vocabulary = tokenizer["model"]["vocab"]
        vocabulary |= {f"extra{n}": len(vocabulary) + n for n in range(8)}
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
        with fails("mismatch", "308 tokens, but the model has 300"):
            self.load(recipe, folder)

    def test_hub_unreachable(self, recipe: dict[str, Any]) -> None:
        with fails("unavailable", "nobody/nothing-at-all", "Hub cannot be reached", "Download"):
            self.load(recipe, "nobody/nothing-at-all")

    def test_unknown_adapter_target(self, recipe: dict[str, Any], llama_folder: Path) -> None:
        recipe["pytorch"]["lora"] = {**LORA, "targets": ["q_proj", "query"]}
        with fails("invalid", '"query"', "q_proj"):
            self.load(recipe, llama_folder)


class TestChatTemplates:
    def load(self, recipe: dict[str, Any], folder: Path, **model: Any) -> Policy:
        recipe["model"] = {"path": str(folder), **model}
        recipe["template"] |= {"chat": True, "system": "Think."}
        return load_policy(recipe, None, CPU)

    def test_messages(self, recipe: dict[str, Any], llama_folder: Path) -> None:
        template = self.load(recipe, llama_folder).template
        assert template.ask("1+2=") == [
            {"role": "system", "content": "Think."},
            {"role": "user", "content": "1+2="},
        ]
        assert template.reply(template.worked("1+2", "3")) == [
            {"role": "assistant", "content": "<think>1+2</think><answer>3</answer>"}
        ]

    def test_none(self, recipe: dict[str, Any], llama_folder: Path, tmp_path: Path) -> None:
        folder = Path(shutil.copytree(llama_folder, tmp_path / "model"))
        for file in folder.glob("chat_template*"):
            file.unlink()
        with fails("missing", "no chat template", '"model.template"'):
            self.load(recipe, folder)
        own = tmp_path / "own.jinja"
        own.write_text("{% for m in messages %}[{{ m.content }}]{% endfor %}")
        policy = self.load(recipe, folder, template=str(own))
        asked = policy.tokenizer.apply_chat_template(policy.template.ask("1+2="), tokenize=False)
        assert asked == "[Think.][1+2=]"
        own.write_text("{{ raise_exception('no system role') }}")
        with fails("invalid", "own.jinja", "no system role"):
            self.load(recipe, folder, template=str(own))
        own.write_text("nothing of it")
        with fails("invalid", "omits the user message"):
            self.load(recipe, folder, template=str(own))
        with fails("missing", "gone.jinja"):
            self.load(recipe, folder, template=str(tmp_path / "gone.jinja"))
