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

/** Seconds of inactivity before an unfinished evaluation without steps counts as stalled. */
const quietSeconds = 600;

function stalledNote(reached: number, total: number | null): string {
	const where = total === null ? '' : ` at step ${Math.max(0, reached)} of ${total}`;
	return `The run has stopped writing${where}, but its files do not show that it has ended.`;
}

/** Creates a run record from a foreign run's files. The record has no process, because there is none to check. */
export function foreignRecordOf({ folder, format, facts, times, step }: RunSigns): AnyRunRecord {
	const { created, updated: lastActive, working } = runTimes(times);
	const { totalSteps: total = null, open = false } = facts;
	// A resumed run can still have the end of its first part.
	const updated = (open ? null : facts.ended) ?? lastActive;
	const reached = Math.max(step ?? -1, facts.reached ?? -1);
	const over = format.hasSteps ? total !== null && reached >= total : !open;
	const writing = format.hasSteps ? working : Math.abs(times.now - updated) < quietSeconds;
	const incomplete = open || (total !== null && reached >= 0);
	const status = facts.status ?? (over ? 'finished' : writing ? 'running' : incomplete ? 'stopped' : 'finished');
	const stalled = facts.status === undefined && status === 'stopped';
	return {
		format: 1,
		id: basename(folder),
		name: facts.name ?? basename(folder),
		engine: 'foreign',
		status,
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
		foreign: {
			format: format.name,
			title: format.title,
			notes: [...format.notes, ...(facts.notes ?? []), ...(stalled ? [stalledNote(reached, total)] : [])],
		},
	};
}
