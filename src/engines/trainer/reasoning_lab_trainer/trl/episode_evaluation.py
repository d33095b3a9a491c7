"""Plays episodes for held-out problems with TRL's own loop of turns and tool calls, outside training."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any, ClassVar

from trl import GRPOTrainer
from trl.chat_template_utils import (
    add_response_schema,
    get_training_chat_template,
    is_chat_template_prefix_preserving,
    parse_response,
)
from trl.trainer.utils import shutdown_event_loop_in_daemon, start_event_loop_in_daemon

from ..policy.access import asked
from ..policy.sampler import Manner, Sampler, Wish
from .environments import OpenedEnvironment, RemoteEnvironment, environment_options, opened_environment
from .episodes import recorded_episodes
from .rewards import text_of_prompt

if TYPE_CHECKING:
    from ..course.context import Context

Ids = list[list[int]]


def evaluate_episodes(context: Context, order: dict[str, Any]) -> list[dict[str, Any]]:
    """Plays `samples` episodes for each held-out problem, split across all ranks. All ranks must call it together.
    Random streams depend only on seed, step, problem, sample and turn, so training is not affected and a resumed run
    measures the same values. Skips episodes whose prompt fills the context.
    """
    opened = opened_environment(context)
    policy, world = context.policy, context.world
    problems = context.problems.held_out(order["problems"])
    places = [
        (place, sample, problems[place])
        for place in range(world.rank, len(problems), world.size)
        for sample in range(order["samples"])
    ]
    own = own_episodes(context, order, opened, places)
    counts = world.gather((len(own), len(places)))
    played, total = (sum(each) for each in zip(*counts, strict=True)) if counts else (0, 0)
    if played < total and context.report_once("held-out episodes"):
        context.alert(
            "warning",
            f"{total - played} of {total} held-out episodes were skipped because their prompts have "
            f"{policy.context} tokens or more, which fills the model's context.",
        )
    samples = [sample for of_rank in world.gather(own) for sample in of_rank]
    return sorted(samples, key=lambda one: (one["problem"], one["sample"]))


def own_episodes(
    context: Context, order: dict[str, Any], opened: OpenedEnvironment, places: list[tuple[int, int, dict[str, Any]]]
) -> list[dict[str, Any]]:
    """Plays this process's episodes. All ranks call it together.

    :param places: problem number, sample number and problem of each episode
    """
    policy, ask = context.policy, context.policy.template.ask
    environments = opened.for_evaluation(len(places))
    name = f"{context.recipe['seed']}/{order['name']}/{context.steps_done}"
    with asked(context) as model, EpisodeLoop(context, model, environments, order) as loop:
        prompts = [
            observed_prompt(ask(problem["prompt"]), environment.reset(problem["row"]))
            for environment, (_, _, problem) in zip(environments, places, strict=True)
        ]
        prompt_ids = [loop.prompt_tokens(prompt) for prompt in prompts]
        kept = [i for i, ids in enumerate(prompt_ids) if len(ids) < policy.context]
        if not kept:
            return []
        loop.keep(kept)
        completions, completion_ids = loop.play(
            [prompts[i] for i in kept],
            [prompt_ids[i] for i in kept],
            [f"{name}/{places[i][0]}/{places[i][1]}" for i in kept],
        )
    played = [environments[i] for i in kept]
    earned = [one._reward(completion) for one, completion in zip(played, completions, strict=True)]
    ends = (policy.tokenizer.eos_token_id, policy.tokenizer.pad_token_id)
    episodes = recorded_episodes(
        [one._played for one in played], completions, completion_ids, ends, loop.max_tool_calling_iterations
    )
    return [
        {
            "problem": places[i][0],
            "sample": places[i][1],
            "prompt": text_of_prompt(policy.tokenizer, prompts[i]),
            "completion": completions[k],
            "messages": {"prompt": prompts[i], "completion": completions[k]},
            "answer": places[i][2]["answer"],
            "row": places[i][2]["row"],
            "truncated": not completion_ids[k] or completion_ids[k][-1] not in ends,
            "episode": episodes[k],
            "reward": earned[k],
        }
        for k, i in enumerate(kept)
    ]


def observed_prompt(prompt: Any, observation: str | None) -> Any:
    """Returns the prompt with the text that `reset` returned, appended the same way as in TRL."""
    if observation is None:
        return prompt
    return [*prompt[:-1], {**prompt[-1], "content": prompt[-1]["content"] + observation}]


class EpisodeLoop:
    """Provides the parts of a trainer that TRL's loop needs. Samples each turn of an episode from a separate random
    stream.
    """

    use_vllm = False
    _is_vlm = False
    chat_template_kwargs: ClassVar[dict[str, Any]] = {}
    _tool_call_loop = GRPOTrainer._tool_call_loop
    _get_tool_suffix_ids = GRPOTrainer._get_tool_suffix_ids

    def __init__(
        self, context: Context, model: Any, environments: list[RemoteEnvironment], order: dict[str, Any]
    ) -> None:
        tokenizer = context.policy.tokenizer
        named = ("response_template", "response_schema")
        if all(getattr(tokenizer, name, None) is None for name in named):
            tokenizer = add_response_schema(tokenizer)
        self.model = model
        self.processing_class = self._tokenizer = tokenizer
        preserving = is_chat_template_prefix_preserving(tokenizer)
        self.chat_template = None if preserving else get_training_chat_template(tokenizer)
        self.max_completion_length: int = order["maxTokens"]
        self.max_tool_calling_iterations: int = environment_options(context).get(
            "max_tool_calling_iterations", sys.maxsize
        )
        methods = [tool_methods(environment) for environment in environments]
        self.tools = methods[0] if methods else []
        self._sync_tool_dicts = [named_tools(each, asynchronous=False) for each in methods]
        self._async_tool_dicts = [named_tools(each, asynchronous=True) for each in methods]
        self._sampler = Sampler(model, tokenizer, context.policy.context)
        self._manner = Manner(order["temperature"])
        self._thread: Any = None
        self.async_loop: Any = None

    def __enter__(self) -> EpisodeLoop:
        if any(self._async_tool_dicts):
            self._thread, self.async_loop, ready = start_event_loop_in_daemon(name="EpisodeLoop")
            ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is not None:
            shutdown_event_loop_in_daemon(self._thread, self.async_loop)

    def prompt_tokens(self, prompt: Any) -> list[int]:
        ids: list[int] = self.processing_class.apply_chat_template(
            prompt,
            tools=self.tools or None,
            chat_template=self.chat_template,
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
        )["input_ids"]
        return ids

    def keep(self, places: list[int]) -> None:
        """Restricts the loop to these episodes."""
        self._sync_tool_dicts = [self._sync_tool_dicts[i] for i in places]
        self._async_tool_dicts = [self._async_tool_dicts[i] for i in places]

    def play(self, prompts: list[Any], prompt_ids: Ids, seeds: list[str]) -> tuple[list[Any], Ids]:
        """Returns each episode's messages and its tokens after the prompt."""
        self._prompt_ids, self._seeds = prompt_ids, seeds
        self._turns = [0] * len(seeds)
        self._completion_ids: Ids = [[] for _ in seeds]
        first, _ = self._generate_single_turn(prompt_ids, None, {})
        completions = [[parse_response(self._tokenizer, ids, prefix=prompt_ids[i])] for i, ids in enumerate(first)]
        if not self.tools:
            return completions, first
        # The loop changes this list in place, which is how turns are assigned to episodes.
        self._completion_ids = first
        result = self._tool_call_loop([[*prompt] for prompt in prompts], prompt_ids, first, completions, None, None, {})
        return result[1], result[2]

    def _generate_single_turn(self, prompt_ids: Ids, *_: Any, **__: Any) -> tuple[Ids, None]:
        wishes = []
        place = -1
        for ids in prompt_ids:
            place = next(i for i in range(place + 1, len(self._seeds)) if self._continues(i, ids))
            seed = f"{self._seeds[place]}/{self._turns[place]}"
            self._turns[place] += 1
            room = self.max_completion_length - (len(ids) - len(self._prompt_ids[place]))
            wishes.append(Wish(ids, seed, room))
        return [sample.tokens for sample in self._sampler.sample(wishes, self._manner)], None

    def _continues(self, place: int, ids: list[int]) -> bool:
        """Returns whether the tokens start with all tokens of an episode so far."""
        known = self._prompt_ids[place] + self._completion_ids[place]
        return ids[: len(known)] == known


def tool_methods(environment: RemoteEnvironment) -> list[Any]:
    """Returns the methods that TRL exposes as tools."""
    members = inspect.getmembers(environment, predicate=inspect.ismethod)
    return [method for name, method in members if name != "reset" and not name.startswith("_")]


def named_tools(methods: list[Any], *, asynchronous: bool) -> dict[str, Any]:
    return {one.__name__: one for one in methods if inspect.iscoroutinefunction(one) == asynchronous}
