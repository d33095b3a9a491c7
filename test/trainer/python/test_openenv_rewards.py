"""Step rewards of an OpenEnv environment as turn rewards. The library's own results have the same fields."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from _reward_host import libraries, turn_rewards
from _reward_host.openenv_environment import OpenEnvEnvironment, OpenEnvEpisode


class Session:
    """Answers every request with the next reward."""

    owner = None

    def __init__(self, rewards: list[object]) -> None:
        self._rewards = iter(rewards)

    def ask(self, work: object) -> SimpleNamespace:
        return SimpleNamespace(observation={"text": "seen"}, reward=next(self._rewards), done=False)


def episode(rewards: list[object], sums: bool = True) -> OpenEnvEpisode:
    """Returns an episode after its reset."""
    environment = SimpleNamespace(sums=sums, concurrent=False)
    environment.total = lambda earned: OpenEnvEnvironment.total(environment, earned)
    started = OpenEnvEpisode(environment, Session(rewards))
    assert started.reset(seed=1) == "seen"
    return started


def turns(played: OpenEnvEpisode, calls: list[int]) -> list[tuple[object, object]]:
    """Plays turns with the given numbers of calls, and returns what the host reports for each."""
    earned = []
    for count in calls:
        before = turn_rewards.count_of(played)
        for _ in range(count):
            played.act({})
        earned.append(turn_rewards.earned_since(played, before))
    return earned


def test_rewards_of_steps_are_those_of_turns() -> None:
    played = episode([None, 0.5, None, 0.25, -1])
    assert turns(played, [1, 1, 2]) == [(0.5, None), (None, None), (-0.75, None)]
    assert played.get_reward() == -0.25


def test_the_reward_of_reset_belongs_to_no_turn() -> None:
    played = episode([2.0, 0.5])
    assert turns(played, [1]) == [(0.5, None)]
    assert played.get_reward() == 2.5


def test_turns_have_no_rewards_if_the_last_step_has_that_of_the_episode() -> None:
    played = episode([None, 0.5, 0.75], sums=False)
    assert turns(played, [1, 1]) == [(None, None), (None, None)]
    assert played.get_reward() == 0.75


def test_a_reset_starts_again() -> None:
    played = episode([None, 0.5, None, 0.25])
    turns(played, [1])
    played.reset()
    assert turns(played, [1]) == [(0.25, None)]
    assert played.get_reward() == 0.25


def test_an_infinite_reward_fails_the_turn() -> None:
    ((earned, fault),) = turns(episode([None, float("nan")]), [1])
    assert earned is None
    assert fault == "turn_rewards contains nan, but a reward must be a finite number, or None if it does not apply"


def test_a_reward_that_is_no_number_fails_the_episode() -> None:
    with pytest.raises(libraries.EpisodeEnd, match="returned str as a reward"):
        turns(episode([None, "1"]), [1])
