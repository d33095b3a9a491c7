"""Completions and log-probabilities for clients, which depend only on each request's own text and seeds."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import fails
from reasoning_lab_trainer.course.context import Context
from reasoning_lab_trainer.course.fence import fenced, random_state, set_random_state
from reasoning_lab_trainer.course.run import run
from reasoning_lab_trainer.course.world import World
from reasoning_lab_trainer.models.load import load_policy
from reasoning_lab_trainer.policy.distribution import draw, spread
from reasoning_lab_trainer.policy.generate import generate
from reasoning_lab_trainer.policy.score import score
from reasoning_lab_trainer.trl.pieces import Pieces
from scripted_driver import ScriptedDriver
from tiny_model import recipe as recipe_of


def context_of(recipe: dict[str, Any], new_model: dict[str, Any] | None = None) -> Context:
    assignment: Any = {"mode": "serve", "recipe": recipe, "columns": [], "resume": None, "newModel": new_model}
    context = Context(None, World(), assignment, Path("/nowhere"))
    context.policy = load_policy(recipe, new_model, torch.device("cpu"))
    return context


@pytest.fixture(scope="module")
def llama(llama_folder: Path) -> Context:
    return context_of(recipe_of(str(llama_folder), []))


def texts(answer: dict[str, Any]) -> list[list[str]]:
    return [[one["text"] for one in of_prompt] for of_prompt in answer["completions"]]


def test_seeds_decide_whoever_else_asks(llama: Context) -> None:
    prompts = ["12+3=", "7", "<think>1+2=3", "44+4="]
    together = generate(
        llama, {"prompts": prompts, "n": [3, 1, 2, 5], "maxTokens": [9, 3, 12, 6], "seeds": [4, 5, 6, 7]}
    )
    for place, prompt in enumerate(prompts):
        n, limit = [3, 1, 2, 5][place], [9, 3, 12, 6][place]
        alone = generate(llama, {"prompts": [prompt], "n": n, "maxTokens": limit, "seed": 4 + place})
        assert texts(alone)[0] == texts(together)[place]
        assert alone["promptTokens"][0] == together["promptTokens"][place]
    again = generate(llama, {"prompts": ["12+3="], "n": 3, "maxTokens": 9, "seed": 5})
    assert texts(again)[0] != texts(together)[0]


def test_greedy_is_what_transformers_finds(llama: Context) -> None:
    policy = llama.policy
    ids = policy.tokenizer("12+3=", return_tensors="pt")
    found = policy.model.generate(**ids, do_sample=False, max_new_tokens=10)[0, ids["input_ids"].shape[1] :]
    answer = generate(llama, {"prompts": ["12+3=", "1"], "temperature": 0, "maxTokens": 10})
    assert texts(answer)[0][0] == policy.tokenizer.decode(found, skip_special_tokens=True)


def test_log_probabilities_agree_with_those_of_given_texts(recipe: dict[str, Any], new_model: dict[str, Any]) -> None:
    context = context_of(recipe, new_model)
    asked = {"prompts": ["1+2=", "9"], "n": 3, "temperature": 0.7, "maxTokens": 8, "logprobs": True}
    answer = generate(context, asked)
    pairs = [
        (prompt, one)
        for prompt, of_prompt in zip(asked["prompts"], answer["completions"], strict=True)
        for one in of_prompt
        if one["finish"] == "length" and "".join(one["tokens"]["text"]) == one["text"]
    ]
    assert pairs
    given = {"prompts": [p for p, _ in pairs], "completions": [one["text"] for _, one in pairs], "temperature": 0.7}
    for (_, one), logprobs in zip(pairs, score(context, given)["logprobs"], strict=True):
        assert logprobs == pytest.approx(one["tokens"]["logprob"], abs=1e-4)
        assert one["logprob"] == pytest.approx(sum(logprobs), abs=1e-3)
        assert one["generated"] == 8
    with fails("unsupported", "no reference policy"):
        score(context, {**given, "reference": True})


def test_ends_where_a_stop_text_comes(llama: Context) -> None:
    free = generate(llama, {"prompts": ["5+5="], "n": 8, "maxTokens": 24, "seed": 2})["completions"][0]
    stop = ["=", "+1", "0"]
    stopped = generate(llama, {"prompts": ["5+5="], "n": 8, "maxTokens": 24, "seed": 2, "stop": stop, "logprobs": True})
    ended = 0
    for whole, one in zip(free, stopped["completions"][0], strict=True):
        places = [(whole["text"].find(text), text) for text in stop if text in whole["text"]]
        if not places:
            assert one["finish"] == whole["finish"] and one["text"] == whole["text"]
            continue
        ended += 1
        at, text = min(places)
        assert (one["text"], one["stopText"], one["finish"]) == (whole["text"][:at], text, "stop")
        assert one["generated"] <= whole["generated"] and not one["truncated"]
        assert len(one["tokens"]["text"]) == len(one["tokens"]["logprob"]) <= one["generated"]
    assert ended > 0


def test_tells_how_a_distribution_is_spread(llama: Context) -> None:
    asked = {"prompts": ["5+5="], "maxTokens": 4, "alternatives": 3}
    tokens = generate(llama, asked)["completions"][0][0]["tokens"]
    for place in range(len(tokens["text"])):
        top = tokens["top"][place]
        assert len(top) == 3 and [p for _, p in top] == sorted((p for _, p in top), reverse=True)
        assert top[0][1] >= tokens["logprob"][place]
    logs = torch.log_softmax(torch.tensor([[0.0, 1.0, 2.0, -1e9], [0.0, 0.0, 0.0, 0.0]]), -1)
    found = {name: values.tolist() for name, values in spread(logs).items()}
    p = [math.exp(x) / (1 + math.e + math.e**2) for x in (0, 1, 2)]
    entropy = -sum(x * math.log(x) for x in p)
    assert found["varentropy"][0] == pytest.approx(sum(x * (math.log(x) + entropy) ** 2 for x in p), abs=1e-6)
    assert found["variance"][0] == pytest.approx(sum(x * x for x in p) / 4 - 1 / 16, abs=1e-6)
    pairs = sum(abs(x - y) for x in [*p, 0] for y in [*p, 0])
    assert found["gini"][0] == pytest.approx(pairs / (2 * 4), abs=1e-6)
    assert [found[name][1] for name in ("varentropy", "gini", "variance")] == pytest.approx([0, 0, 0], abs=1e-6)


def test_draws_as_often_as_is_likely() -> None:
    logits = torch.log(torch.tensor([[0.1, 0.0, 0.6, 0.3]])).repeat(1000, 1)
    numbers = [(i + 0.5) / 1000 for i in range(1000)]
    counts = torch.bincount(draw(logits, 1, 1, numbers).tokens, minlength=4)
    assert counts.tolist() == [100, 0, 600, 300]
    nucleus = torch.bincount(draw(logits, 1, 0.85, numbers).tokens, minlength=4)
    assert nucleus[0] == 0 and nucleus[1] == 0 and abs(int(nucleus[2]) - 667) <= 1
    assert set(draw(logits, 0, 1, numbers).tokens.tolist()) == {2}
    # Numbers at the limits of their range.
    assert draw(logits[:2], 1, 1, [0.0, 1 - 1e-16]).tokens.tolist() == [0, 3]


def test_training_draws_the_same_numbers(llama: Context) -> None:
    before = random_state()
    generate(llama, {"prompts": ["1+1="], "n": 4, "maxTokens": 5})
    with fenced():
        torch.rand(3)
    assert torch.equal(random_state()["cpu"], before["cpu"])
    torch.rand(1)
    set_random_state(before)
    assert torch.equal(random_state()["cpu"], before["cpu"])


def test_refuses_what_does_not_fit(llama: Context) -> None:
    with fails("invalid", "prompts[1]", "128"):
        generate(llama, {"prompts": ["1", "1+1=" * 200]})
    with fails("invalid", '"n" has 1 entries for 2 prompts'):
        generate(llama, {"prompts": ["1", "2"], "n": [1]})
    with fails("invalid", "Too many completions in one request: 5000"):
        generate(llama, {"prompts": ["1"] * 5, "n": 1000})
    assert generate(llama, {"prompts": []}) == {"completions": [], "promptTokens": []}


def test_pieces_make_up_the_text(llama: Context) -> None:
    tokenizer = llama.policy.tokenizer
    pieces = Pieces(tokenizer)
    for text in ("12+3=<think>", "naïve 🙂🙂 ∑x", "日本語 text", "\ud7ff\u0000"):
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert "".join(pieces.of(ids)) == text
        assert len(pieces.of(ids)) == len(ids)
    # A partial character at the end is left unchanged.
    half = tokenizer("🙂", add_special_tokens=False)["input_ids"][:2]
    assert len(pieces.of(half)) == 2


def test_serves_a_checkpoint_that_lies_in_no_run(llama_folder: Path) -> None:
    resume = {
        "checkpoint": str(llama_folder),
        "step": 0,
        "stage": {"index": 0, "step": 0},
        "state": {"heads": ["reward-model"]},
        "sameRun": True,
    }
    asks = iter([[{"do": "generate", "id": 1, "params": {"prompts": ["1+1="], "maxTokens": 3}}], [{"do": "stop"}]])
    driver = ScriptedDriver(
        {"rewards": []},
        mode="serve",
        resume=resume,
        orders=lambda method, params: next(asks) if method in ("ready", "run/orders") else None,
    )
    driver.recipe = None
    assert run(driver.link, "token", World()) == 0, driver.of("fault")
    assert len(driver.answers[0]["value"]["completions"]) == 1
    assert [method for method, _ in driver.asked] == ["begin", "ready", "run/orders"]
