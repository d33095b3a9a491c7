import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { RolloutLine } from '../../../src/protocol/rolloutLine.ts';
import { RolloutIndex, type RolloutIndexOptions } from '../../../src/rolloutIndex/rolloutIndex.ts';
import { makeRolloutFolder, type RolloutFolderOptions } from '../../bench/rolloutFolder.ts';

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
	const rolloutIndex = await RolloutIndex.open({ storage: null, ...options });
	context.after(() => rolloutIndex.close());
	return rolloutIndex;
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
