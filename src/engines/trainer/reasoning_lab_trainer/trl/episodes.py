"""Builds the episodes in rollouts (`rolloutEpisodeSchema`) from TRL's messages and the environment's answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any


@dataclass(frozen=True)
class MadeCall:
    """A call that reached the environment."""

    name: str
    content: str
    """The result as TRL shows it to the model."""
    failed: bool
    seconds: float
    reward: float | None = None
    """What the call added to the reward of its turn."""
    state: dict[str, Any] | None = None
    """Summary of the state after the call; None if not recorded."""


@dataclass
class Played:
    """Record of an environment's part in an episode."""

    observation: str | None = None
    state: dict[str, Any] | None = None
    """Summary of the state after the reset; None if not recorded."""
    calls: list[MadeCall] = field(default_factory=list)
    """Calls that reached the environment, in order."""
    error: dict[str, Any] | None = None
    seconds: float = 0.0


def recorded_episodes(
    played: list[Played],
    completions: list[Any],
    completion_ids: list[list[int]],
    ends: tuple[int | None, ...],
    max_turns: int,
) -> list[dict[str, Any]]:
    """Returns one episode per completion.

    :param ends: tokens that end a completion
    :param max_turns: TRL's limit on turns
    """
    return [
        recorded_episode(one, completion, not ids or ids[-1] not in ends, max_turns)
        for one, completion, ids in zip(played, completions, completion_ids, strict=True)
    ]


def recorded_episode(
    played: Played, completion: list[dict[str, Any]], truncated: bool, max_turns: int
) -> dict[str, Any]:
    """Returns the record of an episode. TRL makes all calls in a message before it samples the next message, so each
    message with calls is a turn.
    """
    made = list(played.calls)
    turns: list[dict[str, Any]] = []
    state = played.state
    stop = "length" if truncated else "policy"
    for place, message in enumerate(completion):
        calls = message.get("tool_calls")
        if not calls:
            continue
        answers = answers_after(completion, place)
        if not answers and len(turns) >= max_turns:
            # These calls were not made.
            stop = "turns"
            break
        if answers:
            turns.append(turn_of(calls, answers, made, state))
        else:
            # TRL removed the results because they did not fit in the completion.
            stop = "length"
            results = [{"name": one.name, "content": one.content, "failed": one.failed} for one in made]
            turns.append(turn(calls, results, made, state))
        state = turns[-1].get("state")
    error = played.error
    results = [result for one in turns for result in one["results"]]
    return {
        "calls": sum(len(one["calls"]) for one in turns),
        "failures": sum(result["failed"] for result in results),
        "stop": "failed" if error is not None else stop,
        **({} if error is None else {"error": error}),
        "seconds": round(played.seconds, 6),
        "observation": played.observation,
        **({} if played.state is None else {"state": played.state}),
        "turns": turns,
    }


def answers_after(completion: list[dict[str, Any]], place: int) -> list[dict[str, Any]]:
    answers: list[dict[str, Any]] = []
    for message in completion[place + 1 :]:
        if message["role"] != "tool":
            break
        answers.append(message)
    return answers


def turn_of(
    calls: list[Any], answers: list[dict[str, Any]], made: list[MadeCall], state: dict[str, Any] | None
) -> dict[str, Any]:
    """Takes the turn's calls from `made`. TRL itself answers calls to unknown tools and calls that Python rejects, and
    these count as failed.
    """
    results: list[dict[str, Any]] = []
    own_calls: list[MadeCall] = []
    for answer in answers:
        name, content = str(answer.get("name", "")), str(answer["content"])
        own = made and made[0].name == name and made[0].content == content
        if own:
            own_calls.append(made.pop(0))
        results.append({"name": name, "content": content, "failed": own_calls[-1].failed if own else True})
    return turn(calls, results, own_calls, state)


def turn(
    calls: list[Any], results: list[dict[str, Any]], made: list[MadeCall], before: dict[str, Any] | None
) -> dict[str, Any]:
    """
    :param before: state before the turn. Calls that did not reach the environment leave it unchanged
    """
    state = made[-1].state if made else before
    rewards = [one.reward for one in made if one.reward is not None]
    return {
        "calls": [call_of(call) for call in calls],
        "results": results,
        # sum() in Python 3.12 rounds differently from the sum in the environment's process.
        **({"reward": reduce(add, rewards)} if rewards else {}),
        "seconds": round(sum(one.seconds for one in made), 6),
        **({} if state is None else {"state": state}),
    }


def call_of(call: Any) -> dict[str, Any]:
    function = call.get("function") or call
    return {"name": str(function.get("name", "")), "arguments": function.get("arguments")}


def episode_metrics(episodes: list[dict[str, Any]]) -> dict[str, float | None]:
    """Returns the metrics of a generation batch. Names are documented in docs/metrics.md."""
    errors = [episode["error"] for episode in episodes if "error" in episode]
    return {
        "environment/turns": sum(len(episode["turns"]) for episode in episodes) / len(episodes),
        "environment/seconds": sum(episode["seconds"] for episode in episodes),
        "environment/failed": float(len(errors)),
        "environment/timeouts": float(sum(error["kind"] == "timeout" for error in errors)),
    }
