import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunView } from '../../../src/extension/runView.ts';
import { renameOver } from '../../../src/files/atomicFile.ts';
import type { RunRecord } from '../../../src/protocol/runRecord.ts';

/** Writes run.json in one operation, as engines do. */
export async function writeRecord(folder: string, changes: Partial<RunRecord> = {}): Promise<RunRecord> {
	const record: RunRecord = {
		format: 1,
		id: 'fixture',
		name: 'fixture',
		engine: 'embedded',
		status: 'finished',
		attempt: 1,
		stage: 'grpo',
		step: 3,
		totalSteps: 3,
		created: 1000,
		updated: 1100,
		heartbeat: 1100,
		host: 'elsewhere',
		boot: 'elsewhere',
		pid: 1,
		processStart: 'long ago',
		device: 'cpu (2 workers)',
		parent: null,
		seeds: {},
		versions: {},
		hashes: { recipe: '', dataset: '', rewards: '' },
		...changes,
	};
	await mkdir(folder, { recursive: true });
	await writeFile(join(folder, '.run.json.tmp'), JSON.stringify(record));
	await renameOver(join(folder, '.run.json.tmp'), join(folder, 'run.json'));
	return record;
}

/** Builds the run view that the panels use. */
export const viewOf = (folder: string, status: RunView['status'], step: number): RunView => ({
	folder,
	record: {
		format: 1,
		id: folder,
		name: folder.slice(1),
		engine: 'embedded',
		status: status === 'unreadable' ? 'finished' : status,
		attempt: 1,
		stage: 'grpo',
		step,
		totalSteps: 100,
		created: 1,
		updated: 2,
		heartbeat: 2,
		host: 'here',
		boot: 'now',
		pid: 1,
		processStart: 'now',
		device: 'cpu',
		parent: null,
		seeds: {},
		versions: {},
		hashes: { recipe: '', dataset: '', rewards: '' },
	},
	status,
	queued: false,
	fault: null,
	annotation: null,
	reward: null,
	accuracy: null,
	tokensPerSecond: null,
});
