import { join } from 'node:path';

/** File names in a run directory. */
export const runFiles = {
	record: 'run.json',
	recipe: 'recipe.json',
	metrics: 'metrics.jsonl',
	rollouts: 'rollouts',
	pictures: 'pictures',
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

/** Returns `step_000012`, so that a step's folders and files sort by name. */
export function stepName(step: number): string {
	return `step_${String(step).padStart(6, '0')}`;
}

/** Returns the step in `step_000012` or `step_000012.jsonl`, or null for any other name. */
export function stepOf(name: string): number | null {
	const match = /^step_(\d{1,15})(?:\.jsonl)?$/.exec(name);
	return match ? Number(match[1]) : null;
}

export function rolloutPath(run: string, step: number): string {
	return join(run, runFiles.rollouts, `${stepName(step)}.jsonl`);
}
