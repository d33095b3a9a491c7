import { basename } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatClock } from '../base/format.ts';
import type { RunRecord, RunStatus } from '../protocol/runRecord.ts';
import { readAnnotation, readMetricsEnd } from '../runs/runReader.ts';
import { readRunState } from '../runs/runStatus.ts';
import { printable } from './cliOutput.ts';
import { findRun, knownRuns } from './findRun.ts';
import { formatNumber, table } from './textForms.ts';
import { defineVerb } from './verb.ts';

interface ListedRun {
	readonly folder: string;
	readonly status: RunStatus | 'prepared' | 'unreadable';
	readonly record: RunRecord | null;
	readonly name: string;
	/** Latest value of the run's `reward` metric. */
	readonly reward: number | null;
	readonly problem?: string;
}

async function stateOf(folder: string): Promise<ListedRun> {
	const name = (await readAnnotation(folder).catch(() => null))?.name;
	try {
		const { record, status } = await readRunState(folder);
		const metrics = await readMetricsEnd(folder);
		const reward = metrics.findLast(({ values }) => typeof values.reward === 'number')?.values.reward ?? null;
		return { folder, status, record, name: name ?? record.name, reward };
	} catch (error) {
		const failure = Failure.from(error);
		const status = failure.reason === 'missing' ? 'prepared' : 'unreadable';
		return { folder, status, record: null, name: name ?? basename(folder), reward: null, problem: failure.message };
	}
}

function row({ folder, status, record, name, reward }: ListedRun): string[] {
	const steps = record === null ? '-' : `${record.step}${record.totalSteps === null ? '' : `/${record.totalSteps}`}`;
	const elapsed = record === null ? '-' : formatClock(record.updated - record.created);
	return [printable(name), status, record?.stage ?? '-', steps, formatNumber(reward), elapsed, folder].map((cell) =>
		printable(cell),
	);
}

export const statusVerb = defineVerb({
	name: 'status',
	group: 'Train',
	arguments: [{ name: 'run', phrase: 'a run', type: 'path', optional: true, max: Number.POSITIVE_INFINITY }],
	summary: 'Show the given runs, or all known runs and any under the current folder.',
	async run({ positionals, output }) {
		const folders = positionals.length > 0 ? await Promise.all(positionals.map(findRun)) : await knownRuns();
		const states = await Promise.all(folders.map(stateOf));
		states.sort((a, b) => (b.record?.created ?? 0) - (a.record?.created ?? 0));
		output.object({ runs: states });
		if (states.length === 0) {
			output.line('No runs found. To start one, run: reasoning-lab run NAME.recipe.json');
			return 0;
		}
		const head = ['name', 'status', 'stage', 'step', 'reward', 'time', 'folder'];
		for (const line of table([head, ...states.map(row)])) output.line(line);
		for (const { record, problem } of states) {
			if (record?.error !== undefined) output.line(printable(`${record.name}: ${record.error.message}`));
			else if (problem !== undefined && positionals.length > 0) output.line(printable(problem));
		}
		return 0;
	},
});
