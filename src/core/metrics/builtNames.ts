import { batch } from './metricEntry.ts';
import type { MetricInfo } from './metricInfo.ts';

/** Metric description derived from the name alone. */
export type Described = Omit<MetricInfo, 'name' | 'known' | 'own'>;

const plain = { healthy: null, rises: null, falls: null, logScale: false } as const;

const phases: Readonly<Record<string, readonly [title: string, explanation: string]>> = {
	generate: ['Sampling', 'Sampling completions for the generation batch.'],
	environment: ['Environment', 'Waiting for the environment: reset, tools, and reward.'],
	reward: ['Scoring', 'Computing the rewards.'],
	logprobs: [
		'Log-probabilities',
		'Forward passes of the reference model, and of the policy for old log-probabilities.',
	],
	reference: ['Reference', 'Forward passes of the reference model.'],
	advantages: ['Advantages', 'Computing advantages.'],
	update: ['Update', 'Forward pass, backward pass, and optimizer step.'],
	weights: ['Weights', 'Sending new weights to the sampler.'],
	sync: ['Synchronizing', 'Waiting for other processes and sending new weights to the sampler.'],
	data: ['Data', 'Reading rows and building tensors.'],
	other: ['Other', 'Remaining step time: bookkeeping and communication between processes.'],
	checkpoint: ['Checkpoint', 'Writing a checkpoint.'],
	evaluate: ['Evaluation', 'Sampling and scoring completions for held-out problems.'],
};

function rewardPart(name: string, part: string): Described {
	if (part === 'errors') {
		return {
			...plain,
			title: `${name}, failed`,
			unit: 'number',
			group: 'reward',
			better: 'down',
			over: 'completions sampled for the generation batch',
			explanation: `Completions for which the reward "${name}" failed: it raised an error, did not return a number, or timed out. They are excluded from their groups. Absent if there were none.`,
			healthy: 'absent',
		};
	}
	const deviation = part === 'std';
	return {
		...plain,
		title: deviation ? `${name} SD` : name,
		unit: 'number',
		group: 'reward',
		better: deviation ? null : 'up',
		over: `${deviation ? 'sample standard deviation (n - 1)' : 'mean'} over the ${batch} it applies to`,
		explanation: `The reward "${name}" on its own, before weighting.`,
		healthy: deviation ? 'above 0 while there is something to learn' : null,
		falls: deviation ? 'The component varies less between completions and no longer drives training.' : null,
	};
}

const evaluations: Readonly<Record<string, string>> = {
	heldout: 'Held-out accuracy',
	until: 'Held-out accuracy (end of stage)',
};

const problems = 'held-out problems: the mean over problems of the mean over samples';

function evaluationPart(name: string, part: string): Described {
	const bound = part.endsWith('_low') ? ', lower bound' : part.endsWith('_high') ? ', upper bound' : '';
	const common = { ...plain, group: 'evaluation', better: 'up', over: problems } as const;
	const passes = /^pass@(\w+)$/.exec(part);
	if (passes) {
		return {
			...common,
			title: `${name} ${part}`,
			unit: 'share',
			over: 'held-out problems',
			explanation: `Fraction of problems with at least one correct answer in ${passes[1]} samples.`,
			healthy: 'above the accuracy; the gap shows how much training can still gain',
			falls: 'The policy finds fewer of the solutions it used to find: its outputs have become less diverse.',
		};
	}
	if (part === 'reward') {
		return {
			...common,
			title: `${name} reward`,
			unit: 'number',
			explanation: 'Mean reward for sampled answers to held-out problems.',
			healthy: 'rises with the training reward',
			falls: "While the training reward rises: the policy's progress does not generalize.",
		};
	}
	const title = evaluations[name] ?? `${name} ${part}`;
	return {
		...common,
		title: `${title}${bound}`,
		unit: part.startsWith('accuracy') ? 'share' : 'number',
		explanation:
			bound === ''
				? 'Fraction of sampled answers to held-out problems that are correct.'
				: 'Bound of the 95% confidence interval for accuracy.',
		healthy: bound === '' ? 'rises with the training reward' : null,
		falls:
			bound === ''
				? 'While reward rises: the reward is being gamed, or the policy is overfitting the training problems.'
				: null,
	};
}

/** Describes a composed metric name. Returns null if the name is unknown. */
export function describeBuiltName(name: string): Described | null {
	const reward = /^rewards\/(.+)\/(mean|std|errors)$/s.exec(name);
	if (reward) return rewardPart(reward[1] as string, reward[2] as string);
	const evaluation = /^eval\/(.+)\/([^/]+)$/s.exec(name) ?? /^(eval)\/([^/]+)$/.exec(name);
	if (evaluation) return evaluationPart(evaluation[1] as string, evaluation[2] as string);
	const [space, ...rest] = name.split('/');
	const part = rest.join('/');
	if (part === '') return null;
	if (space === 'time') {
		const [title, explanation] = (Object.hasOwn(phases, part) ? phases[part] : null) ?? [part, `Phase "${part}".`];
		const over = 'everything since the previous row';
		return { ...plain, title, explanation, unit: 'seconds', group: 'time', better: 'down', over };
	}
	if (space === 'throughput') {
		return {
			...plain,
			title: `${part} per second`,
			explanation: `${part} per second.`,
			unit: 'rate',
			group: 'speed',
			better: 'up',
			over: 'as defined by the engine',
		};
	}
	return null;
}
