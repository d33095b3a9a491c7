import type { StageType } from '../../src/core/metrics/metricInfo.ts';
import type { DashboardRun } from '../../src/protocol/dashboardMessages.ts';
import type { Explanation } from '../lib/tooltip.ts';

/** The kind of stage that a run is in. */
export function stageType(run: DashboardRun): string | null {
	return run.stages.find(({ name }) => name === run.stage)?.type ?? run.stage;
}

/** Who trains, in a few words: "Ray, 4 workers". */
export function engineWords({ engine, engineFacts }: DashboardRun): string | null {
	if (engine === '') return null;
	const workers = engineFacts?.workers ?? null;
	if (workers === null) return engine;
	return `${engine}, ${workers} ${engine === 'Ray' ? 'workers' : 'processes'}`;
}

const engineMeanings: Readonly<Record<string, string>> = {
	Embedded: 'The engine that comes with the extension: small models on this machine.',
	PyTorch: 'TRL in a process of its own, on the GPUs of this machine or its processor.',
	Ray: 'TRL under Ray Train on a cluster. A process here stands for it: it mirrors the run, passes requests on, and finds the job again.',
};

export function explainEngine(run: DashboardRun | null): Explanation {
	const { versions = [], job = null } = run?.engineFacts ?? {};
	return {
		title: 'Engine',
		paragraphs: [engineMeanings[run?.engine ?? ''] ?? 'The program that trains.'],
		facts: [
			...versions,
			...(job === null
				? []
				: ([
						['Job', job.id],
						['Cluster', job.address],
						...(job.submissions > 1 ? ([['Submitted', `${job.submissions} times`]] as const) : []),
					] as const)),
			...(run !== null && run.attempt > 1
				? ([['Attempt', `${run.attempt}: it was taken up again from a checkpoint`]] as const)
				: []),
		],
	};
}

const stageMeanings: Readonly<Record<StageType, string>> = {
	'rejection-sampling': 'Completions are sampled, and the good ones become data. The policy stays as it is.',
	pretrain: 'The next token of whole texts: a base model comes from it.',
	sft: 'Imitation of worked solutions: a cold start.',
	distill: "Imitation of a teacher's completions.",
	grpo: 'Reinforcement learning: completions of one prompt are compared with each other.',
	ppo: 'Reinforcement learning: a critic that learns beside the policy says what each token was worth.',
	rloo: 'Reinforcement learning: each completion is compared with the mean of the others of its prompt.',
	dpo: 'The policy learns from pairs of a better and a worse completion, without sampling.',
	'reward-model': 'A model learns from pairs to score completions. It is no policy: it writes nothing.',
	'process-reward-model': 'A model, or a head beside the policy, learns to judge single steps of a completion.',
	'value-model': 'A head beside the policy learns how likely a beginning comes to a right answer.',
};

export function explainStage(run: DashboardRun | null): Explanation {
	const type = run === null ? null : stageType(run);
	const meaning = type !== null && Object.hasOwn(stageMeanings, type) ? stageMeanings[type as StageType] : null;
	const all = run?.stages.map(({ name }) => name) ?? [];
	return {
		title: 'Stage',
		paragraphs: ['The part of the recipe that runs.', ...(meaning === null ? [] : [meaning])],
		facts: all.length > 1 ? [['All of them', all.join(', ')]] : [],
	};
}
