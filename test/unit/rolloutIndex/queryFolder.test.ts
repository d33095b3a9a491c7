import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { IndexProgress } from '../../../src/protocol/rolloutIndex.ts';
import { queryFolder } from '../../../src/rolloutIndex/queryFolder.ts';
import { folderFor, labFor, runIn } from './ownRun.ts';

const sql = 'select run, rollouts from runs order by run';

test('a saved index keeps the runs of earlier queries, reads only what is new and removes runs that are gone', async (context) => {
	const folder = await folderFor(context);
	process.env.REASONING_LAB_HOME = join(folder, 'home');
	const runs = join(folder, 'runs');
	for (const name of ['a', 'b']) await runIn(join(runs, name));
	const ask = async () => {
		const read: IndexProgress[] = [];
		const { table } = await queryFolder({
			...{ folder: runs, sql, limit: 10, timeoutMs: 10_000 },
			onProgress: (progress) => read.push(progress),
		});
		return { rows: table.rows, read: read.filter(({ state, done, total }) => state === 'indexing' && done < total) };
	};
	const first = await ask();
	assert.deepEqual(first.rows, [
		['a', 60],
		['b', 60],
	]);
	assert.ok(first.read.length > 0);
	const second = await ask();
	assert.deepEqual(second, { rows: first.rows, read: [] });
	await rm(join(runs, 'a'), { recursive: true });
	await runIn(join(runs, 'c'), { rollouts: 20 });
	const third = await ask();
	assert.deepEqual(third.rows, [
		['b', 60],
		['c', 20],
	]);
	assert.deepEqual([...new Set(third.read.map(({ run }) => run))], [join(runs, 'c')]);
});

test('callers that wait for the same run are independent', async (context) => {
	const folder = await folderFor(context);
	const run = await runIn(join(folder, 'run'), { rollouts: 400 });
	const index = await labFor(context);
	const cancel = new AbortController();
	const [canceled, queued, other] = [
		index.index(run, cancel.signal),
		index.index(run, cancel.signal),
		index.index(run),
	];
	cancel.abort();
	for (const one of [canceled, queued]) await assert.rejects(one, /Canceled/);
	assert.equal((await other).rollouts, 400);
});
