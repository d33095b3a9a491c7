import { basename } from 'node:path';
import type { RunRecord } from '../../protocol/runRecord.ts';
import type { RunFacts, RunFormat } from './runFormat.ts';

/** Files that changed so recently say that the trainer is at work. */
export const workingMs = 5 * 60_000;

/** What was looked at to describe a run. */
export interface RunSigns {
	readonly folder: string;
	readonly format: RunFormat;
	readonly facts: RunFacts;
	/** Times of the oldest and newest file looked at, in milliseconds since the epoch; null: none. */
	readonly oldestMs: number | null;
	readonly newestMs: number | null;
	/** The newest step that anything tells of; null: nothing. */
	readonly step: number | null;
	readonly nowMs: number;
}

/** A run record made from what a foreign run's files tell. Nothing in it names a process: there is none to judge. */
export function foreignRecordOf({ folder, format, facts, oldestMs, newestMs, step, nowMs }: RunSigns): RunRecord {
	const updated = (newestMs ?? nowMs) / 1000;
	const created = facts.created ?? Math.min(oldestMs ?? nowMs, newestMs ?? nowMs) / 1000;
	return {
		format: 1,
		id: basename(folder),
		name: facts.name ?? basename(folder),
		engine: 'foreign',
		status: newestMs !== null && Math.abs(nowMs - newestMs) < workingMs ? 'running' : 'finished',
		attempt: 1,
		stage: null,
		step: step ?? 0,
		totalSteps: facts.totalSteps ?? null,
		created,
		updated,
		heartbeat: updated,
		host: '',
		boot: '',
		pid: 0,
		processStart: '',
		device: '',
		parent: null,
		seeds: {},
		versions: { ...facts.versions },
		hashes: { recipe: '', dataset: '', rewards: '' },
		...(facts.rewards === undefined ? {} : { rewards: facts.rewards.map(({ name, weight }) => ({ name, weight })) }),
		foreign: { format: format.name, title: format.title, notes: [...format.notes, ...(facts.notes ?? [])] },
	};
}
