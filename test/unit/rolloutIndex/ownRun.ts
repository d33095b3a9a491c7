import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext } from 'node:test';
import type { RolloutLine } from '../../../src/protocol/rolloutLine.ts';
import { RolloutIndex, type RolloutIndexOptions } from '../../../src/rolloutIndex/rolloutIndex.ts';
import { ThreadPool } from '../../../src/rolloutIndex/threadPool.ts';
import { makeRolloutFolder, type RolloutFolderOptions } from '../../bench/rolloutFolder.ts';
import { fixtureFolder } from '../runs/importers/foreignFixtures.ts';

/** Threads of all indexes in a test file. Each loads the modules that it needs when it starts. */
export const threads = new ThreadPool();
after(() => threads.dispose());

/** Creates a folder that is removed after the test. */
export async function folderFor(context: Pick<TestContext, 'after'>): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), 'lab-'));
	context.after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
	return folder;
}

/** Creates a small run in our own format. */
export async function runIn(folder: string, options: Partial<RolloutFolderOptions> = {}): Promise<string> {
	await makeRolloutFolder(folder, { rollouts: 60, perGroup: 4, groups: 5, bytes: 900, ...options });
	return folder;
}

export async function labFor(
	context: Pick<TestContext, 'after'>,
	options: Partial<RolloutIndexOptions> = {},
): Promise<RolloutIndex> {
	const rolloutIndex = await RolloutIndex.open({ storage: null, sharedThreads: threads, ...options });
	context.after(() => rolloutIndex.close());
	return rolloutIndex;
}

/** Waits until a process has exited. */
export async function gone(pid: number): Promise<void> {
	for (;;) {
		try {
			process.kill(pid, 0);
		} catch {
			return;
		}
		await new Promise((resolve) => setTimeout(resolve, 20));
	}
}

/** Copies the first steps of the longest fixture, all of whose steps have the same form. */
export async function firstTrlSteps(context: Pick<TestContext, 'after'>): Promise<string> {
	const folder = await folderFor(context);
	for (const step of [1, 2, 3]) {
		const path = join('completions', `completions_0000${step}.parquet`);
		await cp(join(fixtureFolder('trl-run'), path), join(folder, path));
	}
	return folder;
}

/** Builds a line of a rollout file. */
export function rolloutLine(over: Partial<RolloutLine> = {}): RolloutLine {
	return {
		step: 1,
		stage: 'grpo',
		group: 0,
		index: 0,
		prompt: 'What is 1 + 1?',
		completion: '<think>Let me check.</think><answer>2</answer>',
		rewards: { accuracy: 1 },
		reward: 1,
		advantage: 0.5,
		truncated: false,
		...over,
	};
}
