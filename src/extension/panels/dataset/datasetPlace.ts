import { basename } from 'node:path';
import { Failure } from '../../../base/failure.ts';
import { decodeOrThrow } from '../../../protocol/decode.ts';
import { type TaskDataset, taskDatasetSchema } from '../../../protocol/recipe.ts';

/** Problems of a generated task: `rows` of them, those that a run with this seed is given. */
export interface TaskPlace {
	readonly task: TaskDataset;
	readonly rows: number;
	readonly seed: number;
}

/** Scheme of the addresses that stand for a generated task. */
export const taskScheme = 'reasoning-lab-task';
export const shownTaskRows = 1000;
const maxTaskRows = 1_000_000;

/** As the query of an address. */
export function taskQuery({ task, rows, seed }: TaskPlace): string {
	return JSON.stringify({ ...task, rows, seed });
}

/** The task of an address's query. Fails with `invalid`. */
export function taskOfQuery(query: string): TaskPlace {
	let value: unknown;
	try {
		value = JSON.parse(query);
	} catch {
		throw new Failure('invalid', 'The address does not name a task.', 'Use "Open Dataset".');
	}
	const { rows = shownTaskRows, seed = 0, ...task } = (value ?? {}) as Record<string, unknown>;
	const whole = (number: unknown, most: number) =>
		Number.isInteger(number) && (number as number) >= 0 && (number as number) <= most;
	if (!whole(rows, maxTaskRows) || !whole(seed, 2 ** 31)) {
		throw new Failure('invalid', 'The address lacks a valid number of rows or a seed.', 'Use "Open Dataset".');
	}
	return {
		task: decodeOrThrow(taskDatasetSchema, task, 'The task'),
		rows: rows as number,
		seed: seed as number,
	};
}

/** For people: "addition, digits 3". */
export function taskLabel({ task, seed }: TaskPlace): string {
	const { task: name, ...settings } = task;
	const told = Object.entries(settings).map(([key, value]) => `${key} ${value}`);
	return [name, ...told, `seed ${seed}`].join(', ');
}

/** A file's name for exported rows of a place. */
export function exportName(name: string): string {
	return `${basename(name).replace(/\.[^.]*$/, '')}-rows.jsonl`;
}
