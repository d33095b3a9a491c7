import type { StageType } from '../../src/core/metrics/metricInfo.ts';
import type { DashboardRun } from '../../src/protocol/dashboardMessages.ts';
import type { Explanation } from '../lib/tooltip.ts';

/** Returns the type of a run's current stage. */
export function stageType(run: DashboardRun): string | null {
	return run.stages.find(({ name }) => name === run.stage)?.type ?? run.stage;
}

/** Returns a short description of the engine: "Ray, 4 workers". */
export function engineWords({ engine, engineFacts }: DashboardRun): string | null {
	if (engine === '') return null;
	const workers = engineFacts?.workers ?? null;
	if (workers === null) return engine;
	return `${engine}, ${workers} ${engine === 'Ray' ? 'workers' : 'processes'}`;
}

const engineMeanings: Readonly<Record<string, string>> = {
	Embedded: 'Built-in engine for small models on this machine.',
	PyTorch: 'TRL in a separate process on this machine (GPU or CPU).',
	Ray: 'TRL under Ray Train on a cluster. A local process mirrors the run, forwards requests, and reconnects to the job.',
};

export function explainEngine(run: DashboardRun | null): Explanation {
	const { versions = [], job = null } = run?.engineFacts ?? {};
	return {
		title: 'Engine',
		paragraphs: [engineMeanings[run?.engine ?? ''] ?? 'The program that runs the training.'],
		facts: [
			...versions,
			...(job === null
				? []
				: ([
						['Job', job.id],
						['Cluster', job.address],
						...(job.submissions > 1 ? ([['Submitted', `${job.submissions}\u00d7`]] as const) : []),
					] as const)),
			...(run !== null && run.attempt > 1
				? ([['Attempt', `${run.attempt} (resumed from a checkpoint)`]] as const)
				: []),
		],
	};
}

const stageMeanings: Readonly<Record<StageType, string>> = {
	'rejection-sampling': 'Samples completions and keeps the best as training data. Does not change the policy.',
	pretrain: 'Next-token prediction on text; produces a base model.',
	sft: 'Supervised fine-tuning on worked solutions (cold start).',
	distill: "Supervised fine-tuning on a teacher's completions.",
	grpo: 'Reinforcement learning with group-relative advantages.',
	ppo: 'Reinforcement learning with a learned critic that estimates the value of each token.',
	rloo: 'Reinforcement learning with a leave-one-out baseline per prompt.',
	dpo: 'Preference learning from chosen/rejected pairs, without sampling.',
	'reward-model': 'Trains a model on preference pairs to score completions. The model does not generate text.',
	'process-reward-model': 'Trains a model, or a head on the policy, to score the steps in a completion.',
	'value-model': 'Trains a head on the policy to predict the probability that a prefix leads to a correct answer.',
};

export function explainStage(run: DashboardRun | null): Explanation {
	const type = run === null ? null : stageType(run);
	const meaning = type !== null && Object.hasOwn(stageMeanings, type) ? stageMeanings[type as StageType] : null;
	const all = run?.stages.map(({ name }) => name) ?? [];
	return {
		title: 'Stage',
		paragraphs: ['The recipe stage currently running.', ...(meaning === null ? [] : [meaning])],
		facts: all.length > 1 ? [['All stages', all.join(', ')]] : [],
	};
}
