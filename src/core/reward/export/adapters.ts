import type { ExportTarget } from './exportTarget.ts';
import type { RewardFacts } from './rewardFacts.ts';

export interface AdapterOptions {
	/** Weights by reward name; a missing reward uses the weight suggested in the reward file, or 1. */
	readonly weights: Readonly<Record<string, number>>;
	/** Name of the answer column, which other trainers call ground truth or label. */
	readonly answer: string;
	/** Text inserted before and after the thinking if the trainer passes it separately from the answer. */
	readonly think: readonly [string, string];
	/** Whether completions are passed to the reward as lists of messages. */
	readonly conversational: boolean;
}

const text = (value: string) => JSON.stringify(value);
const weightOf = (reward: RewardFacts, { weights }: AdapterOptions) => weights[reward.name] ?? reward.weight ?? 1;
const listed = (rewards: readonly RewardFacts[], options: AdapterOptions) =>
	`[${rewards.map((reward) => `(${reward.name}, ${weightOf(reward, options)})`).join(', ')}]`;

/**
 * Code shared by all adapters except TRL's: calls a TRL-style reward on one completion and computes the weighted sum.
 */
function helpers(rewards: readonly RewardFacts[], options: AdapterOptions): string {
	const completion = options.conversational ? '[{"role": "assistant", "content": completion}]' : 'completion';
	const prompt = options.conversational
		? 'prompt if isinstance(prompt, list) else [{"role": "user", "content": prompt}]'
		: 'prompt';
	return `import asyncio as _asyncio
import inspect as _inspect

_REWARDS = ${listed(rewards, options)}


def _arguments(function, prompt, completion, columns):
    """Returns the arguments of the function for one row, each as a list of one, because TRL's signature takes a batch."""
    arguments = {name: [value] for name, value in columns.items()}
    arguments.update(prompts=[${prompt}], completions=[${completion}])
    parameters = _inspect.signature(function).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return arguments
    return {name: value for name, value in arguments.items() if name in parameters}


def _value(function, result):
    """Returns the single value of the list; None: the reward does not apply to the row."""
    values = list(result)
    if len(values) != 1:
        raise ValueError(f"{function.__name__} returned {len(values)} values for 1 completion")
    value = values[0]
    if value is None:
        return None
    value = float(value)
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError(f"{function.__name__} returned {value}")
    return value


def _score(function, prompt, completion, columns):
    result = function(**_arguments(function, prompt, completion, columns))
    if _inspect.isawaitable(result):

        async def _wait():
            return await result

        result = _asyncio.run(_wait())
    return _value(function, result)


def _total(values):
    """Returns the weighted sum of the rewards that apply; 0 if none does, because this trainer does not support None."""
    return sum(weight * value for (_, weight), value in zip(_REWARDS, values) if value is not None)
`;
}

function trl(rewards: readonly RewardFacts[], options: AdapterOptions): string {
	return `# The functions already have TRL's signature.
reward_funcs = [${rewards.map(({ name }) => name).join(', ')}]
reward_weights = [${rewards.map((reward) => weightOf(reward, options)).join(', ')}]
`;
}

function verl(rewards: readonly RewardFacts[], options: AdapterOptions): string {
	return `${helpers(rewards, options)}

def compute_score(data_source, solution_str, ground_truth, extra_info=None, **kwargs):
    columns = dict(extra_info or {})
    columns.update({"data_source": data_source, ${text(options.answer)}: ground_truth})
    prompt = columns.pop("prompt", columns.get("question", ""))
    values = [_score(function, prompt, solution_str, columns) for function, _ in _REWARDS]
    named = {function.__name__: value for (function, _), value in zip(_REWARDS, values) if value is not None}
    return {"score": _total(values), **named}
`;
}

function openrlhf(rewards: readonly RewardFacts[], options: AdapterOptions): string {
	return `${helpers(rewards, options)}

def reward_func(queries, prompts, labels, **kwargs):
    import torch

    rows = []
    for query, prompt, label in zip(queries, prompts, labels):
        # A query is the prompt followed by its completion.
        completion = query[len(prompt) :] if query.startswith(prompt) else query
        columns = {${text(options.answer)}: label}
        rows.append([_score(function, prompt, completion, columns) for function, _ in _REWARDS])
    totals = torch.tensor([_total(values) for values in rows], dtype=torch.float32)
    logs = {
        function.__name__: torch.tensor([0.0 if values[i] is None else values[i] for values in rows])
        for i, (function, _) in enumerate(_REWARDS)
    }
    # "scores" decides which groups dynamic filtering keeps, and must be between 0 and 1.
    return {"rewards": totals, "scores": totals.clamp(0, 1), "extra_logs": logs}
`;
}

function verifiers(rewards: readonly RewardFacts[], options: AdapterOptions): string {
	const [open, close] = options.think;
	const functions = rewards.map(
		(reward) => `

async def ${reward.name}_of_trace(task, trace):
    value = await _score_trace(${reward.name}, task, trace)
    return 0.0 if value is None else value`,
	);
	const methods = rewards.map(
		(reward) => `
        @_vf.reward(weight=${weightOf(reward, options)})
        async def ${reward.name}(self, trace) -> float:
            return await ${reward.name}_of_trace(self, trace)
`,
	);
	return `${helpers(rewards, options)}
_THINK = (${text(open)}, ${text(close)})


def _completion_of(trace):
    """Returns the last reply, preceded by its reasoning if the server returned it separately."""
    messages = trace.assistant_messages
    if not messages:
        return ""
    content = messages[-1].content or ""
    thinking = getattr(messages[-1], "reasoning_content", None)
    return f"{_THINK[0]}{thinking}{_THINK[1]}{content}" if thinking else content


async def _score_trace(function, task, trace):
    # A method gets the task; a function named in a config gets the task's data as "task".
    data = task.data if isinstance(task, _vf.Task) else task
    columns = data.model_dump()
    columns.pop("prompt", None)
    result = function(**_arguments(function, data.prompt_text, _completion_of(trace), columns))
    return _value(function, (await result) if _inspect.isawaitable(result) else result)
${functions.join('\n')}


try:
    import verifiers.v1 as _vf
except ImportError:
    _vf = None

if _vf is not None:

    class ExportedRewards:
        """Mixin for tasks; list it before vf.Task: class MyTask(ExportedRewards, vf.Task[MyData])."""
${methods.join('')}`;
}

const writers: Readonly<Record<ExportTarget, (rewards: readonly RewardFacts[], options: AdapterOptions) => string>> = {
	trl,
	verl,
	openrlhf,
	verifiers,
};

/** Returns the part of the adapter that follows the reward file's source. */
export function adapterOf(target: ExportTarget, rewards: readonly RewardFacts[], options: AdapterOptions): string {
	return writers[target](rewards, options);
}
