import { deviationMeaning, lossMeaning } from './lossMeaning.ts';
import type { MetricContext, MetricGroup, MetricInfo, MetricUnit } from './metricInfo.ts';

type Entry = readonly [
	title: string,
	unit: MetricUnit,
	group: MetricGroup,
	better: 'up' | 'down' | null,
	over: string,
	explanation: string | ((context: MetricContext) => string),
	logScale?: boolean,
];

const batch = 'completions of the generation batch';
const update = 'completion tokens of the update, those left out of it for lack of advantage included';

/** Every metric that a run writes under a fixed name. Names and definitions are TRL 1.13's where TRL has the metric. */
const entries: Readonly<Record<string, Entry>> = {
	reward: [
		'Reward',
		'number',
		'reward',
		'up',
		`mean over ${batch}`,
		'The weighted sum of the rewards that apply to a completion. What training raises.',
	],
	reward_std: [
		'Reward deviation',
		'number',
		'reward',
		null,
		`sample standard deviation (n - 1) over ${batch}`,
		(context) => `How much rewards differ over the whole batch. ${deviationMeaning(context)}`,
	],
	frac_reward_zero_std: [
		'Dead groups',
		'share',
		'reward',
		'down',
		'share of the groups of the generation batch',
		'Groups whose completions all earned the same: their advantages are 0 and they teach nothing. High early: the task is too hard; high late: it is solved.',
	],
	kl: [
		'KL to the reference',
		'nats',
		'policy',
		null,
		`mean over ${update}`,
		'How far the policy has moved from the reference, by the k3 estimator r - 1 - log r with r = reference / policy. Never below 0.',
	],
	entropy: [
		'Entropy',
		'nats',
		'policy',
		null,
		`mean over ${update}`,
		'Uncertainty about the next token. Near 0 the policy no longer explores; a sudden rise means that it falls apart.',
	],
	'clip_ratio/low_mean': [
		'Clipped low',
		'share',
		'clipping',
		null,
		`share of ${update}`,
		'Tokens with negative advantage whose ratio fell below 1 - epsilon, so that they no longer count in the gradient. 0 at the first update of a batch.',
	],
	'clip_ratio/low_min': [
		'Clipped low, least',
		'share',
		'clipping',
		null,
		'smallest share of one completion of the update',
		'The completion with the fewest tokens clipped below.',
	],
	'clip_ratio/high_mean': [
		'Clipped high',
		'share',
		'clipping',
		null,
		`share of ${update}`,
		'Tokens with positive advantage whose ratio rose above 1 + epsilon_high, so that they no longer count in the gradient. 0 at the first update of a batch.',
	],
	'clip_ratio/high_max': [
		'Clipped high, most',
		'share',
		'clipping',
		null,
		'largest share of one completion of the update',
		'The completion with the most tokens clipped above.',
	],
	'clip_ratio/region_mean': [
		'Clipped',
		'share',
		'clipping',
		null,
		`share of ${update}`,
		'Tokens clipped on either side. A large share means that the batch is used up: fewer iterations or a lower learning rate.',
	],
	'completions/mean_length': [
		'Completion length',
		'tokens',
		'lengths',
		null,
		`mean over ${batch}`,
		'Tokens per completion, end-of-sequence included.',
	],
	'completions/min_length': [
		'Shortest completion',
		'tokens',
		'lengths',
		null,
		`smallest of the ${batch}`,
		'Tokens of the shortest completion.',
	],
	'completions/max_length': [
		'Longest completion',
		'tokens',
		'lengths',
		null,
		`largest of the ${batch}`,
		'Tokens of the longest completion.',
	],
	'completions/clipped_ratio': [
		'Truncated completions',
		'share',
		'lengths',
		'down',
		`share of the ${batch}`,
		'Completions that reached max_completion_length before they ended.',
	],
	'completions/mean_terminated_length': [
		'Length of ended completions',
		'tokens',
		'lengths',
		null,
		`mean over the ${batch} that ended by themselves`,
		'Tokens per completion, truncated ones left out.',
	],
	'completions/min_terminated_length': [
		'Shortest ended completion',
		'tokens',
		'lengths',
		null,
		`smallest of the ${batch} that ended by themselves`,
		'Truncated ones left out.',
	],
	'completions/max_terminated_length': [
		'Longest ended completion',
		'tokens',
		'lengths',
		null,
		`largest of the ${batch} that ended by themselves`,
		'Truncated ones left out.',
	],
	loss: ['Loss', 'number', 'optimiser', null, 'the update', lossMeaning],
	grad_norm: [
		'Gradient norm',
		'number',
		'optimiser',
		null,
		'all parameters, before clipping',
		'Length of the gradient. Above max_grad_norm the gradient is scaled down to it; spikes are a sign of trouble.',
		true,
	],
	learning_rate: [
		'Learning rate',
		'number',
		'optimiser',
		null,
		'the update',
		'The rate of AdamW at this update, after warm-up and schedule.',
	],
	num_tokens: [
		'Tokens processed',
		'tokens',
		'speed',
		null,
		'all steps so far',
		'Prompt and completion tokens since the start of the run.',
	],
	step_time: [
		'Step time',
		'seconds',
		'speed',
		'down',
		'the step',
		'Wall-clock time of the update; the first of a generation batch includes sampling and scoring.',
	],
	'sampling/sampling_logp_difference/mean': [
		'Sampler difference',
		'nats',
		'policy',
		'down',
		'mean over the tokens of the first update of a batch',
		'Distance between the log-probabilities of the sampler and of the training graph: a check, about 1e-5 when all is well.',
		true,
	],
	'sampling/sampling_logp_difference/max': [
		'Sampler difference, most',
		'nats',
		'policy',
		'down',
		'largest over the tokens of the first update of a batch',
		'The worst token of that check.',
		true,
	],
	'throughput/tokens': [
		'Tokens per second',
		'rate',
		'speed',
		'up',
		'the generation batch (in a cold start: the update)',
		'Completion tokens sampled per second of sampling; in a cold start, tokens trained on per second.',
	],
	'throughput/completions': [
		'Completions per second',
		'rate',
		'speed',
		'up',
		'the generation batch',
		'Completions sampled per second of sampling.',
	],
};

const phases: Readonly<Record<string, readonly [title: string, explanation: string]>> = {
	generate: ['Sampling', 'Sampling the completions of the generation batch.'],
	reward: ['Scoring', 'Computing the rewards.'],
	logprobs: ['Log-probabilities', 'Forward passes of the reference, and of the policy for old log-probabilities.'],
	update: ['Update', 'Forward, backward and optimiser.'],
	checkpoint: ['Checkpoint', 'Writing a checkpoint.'],
	evaluate: ['Evaluation', 'Sampling and judging held-out problems.'],
};

type Described = Omit<MetricInfo, 'name' | 'known'>;

function rewardPart(name: string, part: string): Described {
	if (part === 'errors') {
		return {
			title: `${name}, failed`,
			unit: 'number',
			group: 'reward',
			better: 'down',
			over: 'completions sampled for the generation batch',
			explanation: `Completions on which the reward "${name}" failed: it raised, returned no number, or took too long. They are left out of their groups. Absent: none.`,
			logScale: false,
		};
	}
	const deviation = part === 'std';
	return {
		title: deviation ? `${name}, deviation` : name,
		unit: 'number',
		group: 'reward',
		better: deviation ? null : 'up',
		over: `${deviation ? 'sample standard deviation (n - 1)' : 'mean'} over the ${batch} that it applies to`,
		explanation: `The reward "${name}" by itself, before its weight.`,
		logScale: false,
	};
}

const evaluations: Readonly<Record<string, string>> = {
	heldout: 'Held-out accuracy',
	until: 'Held-out accuracy (end of stage)',
};

function evaluationPart(name: string, part: string): Described {
	const title = evaluations[name] ?? `${name} ${part}`;
	const bound = part.endsWith('_low') ? ', lower bound' : part.endsWith('_high') ? ', upper bound' : '';
	return {
		title: `${title}${bound}`,
		unit: part.startsWith('accuracy') ? 'share' : 'number',
		group: 'evaluation',
		better: 'up',
		over: 'held-out problems: the mean over problems of the mean over samples',
		explanation:
			bound === ''
				? 'Share of sampled answers that are right, on problems that are never trained on.'
				: 'End of the 95 % interval (Wilson score) around the accuracy.',
		logScale: false,
	};
}

/** Names that are built from other names. */
function describePattern(name: string): Described | null {
	const reward = /^rewards\/(.+)\/(mean|std|errors)$/s.exec(name);
	if (reward) return rewardPart(reward[1] as string, reward[2] as string);
	const evaluation = /^eval\/([^/]+)\/([^/]+)$/.exec(name) ?? /^(eval)\/([^/]+)$/.exec(name);
	if (evaluation) return evaluationPart(evaluation[1] as string, evaluation[2] as string);
	const [space, ...rest] = name.split('/');
	const part = rest.join('/');
	if (space === 'time' && part !== '') {
		const [title, explanation] = phases[part] ?? [part, `Phase "${part}".`];
		const over = 'everything since the line before';
		return { title, explanation, unit: 'seconds', group: 'time', better: 'down', over, logScale: false };
	}
	if (space === 'throughput' && part !== '') {
		const over = 'as the engine defines it';
		const explanation = `${part} per second.`;
		return {
			title: `${part} per second`,
			explanation,
			unit: 'rate',
			group: 'speed',
			better: 'up',
			over,
			logScale: false,
		};
	}
	return null;
}

/**
 * What a metric is: title, unit, over what it was averaged, what it means in the stage at hand. A name that is not ours is
 * given back as it stands, with `known` false.
 */
export function describeMetric(name: string, context: MetricContext = {}): MetricInfo {
	const entry = Object.hasOwn(entries, name) ? entries[name] : undefined;
	if (entry) {
		const [title, unit, group, better, over, explanation, logScale = false] = entry;
		const words = typeof explanation === 'string' ? explanation : explanation(context);
		return { name, title, unit, group, better, over, explanation: words, logScale, known: true };
	}
	const described = describePattern(name);
	if (described) return { name, ...described, known: true };
	return {
		name,
		title: name,
		unit: 'number',
		over: 'not recorded',
		explanation: 'A number of the engine that wrote the run, under its own name.',
		better: null,
		group: 'other',
		logScale: false,
		known: false,
	};
}

/** Every fixed name, in the order in which they are shown. */
export const metricNames: readonly string[] = Object.keys(entries);
