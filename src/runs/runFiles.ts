import { join } from 'node:path';

/** Names of the files of a run directory. */
export const runFiles = {
	record: 'run.json',
	recipe: 'recipe.json',
	metrics: 'metrics.jsonl',
	rollouts: 'rollouts',
	rewards: 'rewards',
	events: 'events.jsonl',
	evaluations: 'evaluations',
	searches: 'searches',
	data: 'data',
	checkpoints: 'checkpoints',
	superseded: 'superseded',
	annotations: 'annotations',
	person: 'annotations/person.json',
	log: 'engine.log',
	lock: 'run.lock',
	reserve: '.reserve',
} as const;

/** `step_000012`: folders and files of a step sort by name. */
export function stepName(step: number): string {
	return `step_${String(step).padStart(6, '0')}`;
}

/** The step in `step_000012` or `step_000012.jsonl`; null for any other name. */
export function stepOf(name: string): number | null {
	const match = /^step_(\d{1,15})(?:\.jsonl)?$/.exec(name);
	return match ? Number(match[1]) : null;
}

export function rolloutPath(run: string, step: number): string {
	return join(run, runFiles.rollouts, `${stepName(step)}.jsonl`);
}
