import { basename } from 'node:path';
import type { AnyRunRecord } from '../../protocol/runRecord.ts';
import type { RunFacts, RunFormat } from './runFormat.ts';
import { runTimes, type TimeSigns } from './runTimes.ts';

/** Data used to describe a run. */
export interface RunSigns {
	readonly folder: string;
	readonly format: RunFormat;
	readonly facts: RunFacts;
	readonly times: TimeSigns;
	/** Latest step mentioned anywhere; null if there is none. */
	readonly step: number | null;
}

/** Creates a run record from a foreign run's files. The record has no process, because there is none to check. */
export function foreignRecordOf({ folder, format, facts, times, step }: RunSigns): AnyRunRecord {
	const { created, updated, working } = runTimes(times);
	const total = facts.totalSteps ?? null;
	const over = !format.hasSteps || (total !== null && step !== null && step >= total);
	return {
		format: 1,
		id: basename(folder),
		name: facts.name ?? basename(folder),
		engine: 'foreign',
		status: working && !over ? 'running' : 'finished',
		attempt: 1,
		stage: null,
		step: format.hasSteps ? step : null,
		totalSteps: total,
		created: facts.created ?? created,
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
