import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunRecord } from '../../../src/protocol/runRecord.ts';
import { renameOver } from '../../../src/runs/atomicFile.ts';

/** Writes run.json as an engine does, in one go. */
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
