import { batch } from './metricEntry.ts';
import type { MetricInfo } from './metricInfo.ts';

/** What is told of a metric by its name alone. */
export type Described = Omit<MetricInfo, 'name' | 'known' | 'own'>;

const plain = { healthy: null, rises: null, falls: null, logScale: false } as const;

const phases: Readonly<Record<string, readonly [title: string, explanation: string]>> = {
	generate: ['Sampling', 'Sampling the completions of the generation batch.'],
	reward: ['Scoring', 'Computing the rewards.'],
	logprobs: ['Log-probabilities', 'Forward passes of the reference, and of the policy for old log-probabilities.'],
	reference: ['Reference', 'Forward passes of the reference.'],
	advantages: ['Advantages', 'Computing advantages.'],
	update: ['Update', 'Forward, backward and optimizer.'],
	weights: ['Weights', 'Handing new weights to the sampler.'],
	sync: ['Synchronizing', 'Processes wait for each other, and new weights go to the sampler.'],
	data: ['Data', 'Reading rows and making tensors of them.'],
	other: ['Everything else', 'What is left of the step: bookkeeping, and talk between processes.'],
	checkpoint: ['Checkpoint', 'Writing a checkpoint.'],
	evaluate: ['Evaluation', 'Sampling and judging held-out problems.'],
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
			explanation: `Completions on which the reward "${name}" failed: it raised, returned no number, or took too long. They are left out of their groups. Absent: none.`,
			healthy: 'absent',
		};
	}
	const deviation = part === 'std';
	return {
		...plain,
		title: deviation ? `${name}, deviation` : name,
		unit: 'number',
		group: 'reward',
		better: deviation ? null : 'up',
		over: `${deviation ? 'sample standard deviation (n - 1)' : 'mean'} over the ${batch} that it applies to`,
		explanation: `The reward "${name}" by itself, before its weight.`,
		healthy: deviation ? 'above 0 while there is something to learn' : null,
		falls: deviation ? 'The component tells completions apart less and less: it no longer trains.' : null,
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
			explanation: `Share of problems of which at least one of ${passes[1]} samples is right.`,
			healthy: 'above the accuracy; the distance is what training can still bring forth',
			falls: 'The policy finds fewer of the solutions that it once found: it has narrowed.',
		};
	}
	if (part === 'reward') {
		return {
			...common,
			title: `${name} reward`,
			unit: 'number',
			explanation: 'Mean reward of sampled answers to problems that are not trained on.',
			healthy: 'rises with the reward of training',
			falls: 'With the reward of training rising: what is learned does not carry over.',
		};
	}
	const title = evaluations[name] ?? `${name} ${part}`;
	return {
		...common,
		title: `${title}${bound}`,
		unit: part.startsWith('accuracy') ? 'share' : 'number',
		explanation:
			bound === ''
				? 'Share of sampled answers that are right, on problems that are never trained on.'
				: 'End of the 95% interval around the accuracy.',
		healthy: bound === '' ? 'rises with the reward of training' : null,
		falls: bound === '' ? 'With reward rising: the reward is gamed, or the policy overfits its problems.' : null,
	};
}

/** Names that are built from other names; null: none that is known. */
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
		const over = 'everything since the line before';
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
			over: 'as the engine defines it',
		};
	}
	return null;
}
