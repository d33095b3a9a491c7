// @reaches rewardHost rewardPython
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { EventLine } from '../../../../src/protocol/eventLine.ts';
import type { ControlClient } from '../../../../src/rpc/controlClient.ts';
import { connectRun } from '../../../../src/runs/runControl.ts';
import { readEvents, readRecord } from '../../../../src/runs/runReader.ts';
import { eventually, shortRecipe, tinyRecipe, type Workplace } from './engineProcess.ts';

const execute = promisify(execFile);

/** Builds a recipe with file rewards and, from step 5 on, 8 generation batches of 16 completions. */
export const rewardRecipe = (rewards: readonly object[], more: object = {}) => ({
	...shortRecipe,
	stages: [
		{ ...tinyRecipe.stages[0], steps: 4 },
		{ ...tinyRecipe.stages[1], steps: 8 },
	],
	rewards: [{ use: 'accuracy' }, ...rewards],
	...more,
});

export async function writeFiles(place: Workplace, files: Readonly<Record<string, string>>): Promise<void> {
	for (const [name, text] of Object.entries(files)) {
		const path = join(place.folder, name);
		await mkdir(dirname(path), { recursive: true });
		await writeFile(path, text);
	}
}

/** Connects to a run that has paused itself. */
export async function connectPaused(run: string): Promise<ControlClient> {
	const record = await eventually(async () => {
		const found = await readRecord(run).catch(() => null);
		return found?.status === 'paused' && found.pause ? found : null;
	}, 'the run pauses by itself').catch(async (error: Error) => {
		throw new Error(`${error.message}; engine.log: ${await readFile(join(run, 'engine.log'), 'utf8').catch(String)}`);
	});
	return connectRun(run, record, 'test');
}

export const alertsOf = async (run: string): Promise<EventLine[]> =>
	(await readEvents(run)).filter(({ type, level }) => type === 'alert' && level !== 'info');

/** Lists the processes a run has started: those whose command line or environment mentions the folder. */
export async function processesOf(marker: string): Promise<string[]> {
	const { stdout } = await execute('ps', ['axeww', '-o', 'pid=,command='], { maxBuffer: 64 << 20 });
	return stdout.split('\n').filter((line) => line.includes(marker) && !line.includes('ps axeww'));
}
