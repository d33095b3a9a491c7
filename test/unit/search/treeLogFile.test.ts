import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { readTreeLog } from '../../../src/search/treeLogFile.ts';
import { folderFor } from './searchFixtures.ts';

const start = {
	t: 'start',
	at: 0,
	format: 1,
	id: 'a',
	strategy: 'mcts',
	params: {},
	seed: 0,
	...{ problem: { prompt: 'p' }, policy: { name: 'p' } },
};

test('a log started by a newer version is reported as such', async (context) => {
	const log = join(await folderFor(context), 'a.jsonl');
	await writeFile(log, `${JSON.stringify({ ...start, format: 99 })}\n`);
	await assert.rejects(readTreeLog(log), {
		reason: 'version',
		message: `${log} was written by a newer version (format 99).`,
		action: 'Update Reasoning Lab.',
	});
});

test('a log that merely contains the words "newer version" is read', async (context) => {
	const log = join(await folderFor(context), 'a.jsonl');
	await writeFile(log, `${JSON.stringify({ t: 'newer version', at: 0 })}\n${JSON.stringify(start)}\n`);
	const { unreadable, faults, tree } = await readTreeLog(log);
	assert.deepEqual([unreadable, faults.map(({ line }) => line), tree.start?.id], [1, [1], 'a']);
});
