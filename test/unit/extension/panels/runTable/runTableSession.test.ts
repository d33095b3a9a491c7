import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Emitter } from '../../../../../src/base/event.ts';
import { readRow, rowOf } from '../../../../../src/extension/panels/runTable/runRows.ts';
import { RunTableSession } from '../../../../../src/extension/panels/runTable/runTableSession.ts';
import type { RunView } from '../../../../../src/extension/runView.ts';
import { decodeOrThrow } from '../../../../../src/protocol/decode.ts';
import { type RunTableEvent, runTableEventSchema } from '../../../../../src/protocol/runTableMessages.ts';
import { viewOf } from '../../fixtureRun.ts';

const root = await mkdtemp(join(tmpdir(), 'run-table-'));
after(() => rm(root, { recursive: true, force: true }));

/** Waits until a condition holds; the test timeout bounds the wait. */
async function until(condition: () => boolean): Promise<void> {
	while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

test('rows are sent as soon as runs are known, then with recipes and metrics, and again only when runs change', async (t) => {
	const folder = join(root, 'a');
	await mkdir(folder);
	await writeFile(join(folder, 'recipe.json'), JSON.stringify({ seed: 7, stages: [{ type: 'grpo', beta: 0.5 }] }));
	await writeFile(
		join(folder, 'metrics.jsonl'),
		'{"step":1,"time":1,"stage":"grpo","reward":0.5,"kl":1}\n{"step":2,"time":2,"stage":"grpo","reward":0.75}\n',
	);
	const changed = new Emitter<void>();
	const gone = viewOf(join(root, 'gone'), 'finished', 3);
	const store = {
		runs: [viewOf(folder, 'running', 2), gone] as readonly RunView[],
		isOwn: (path: string) => path === folder,
		onDidChange: changed.event,
		ready: Promise.resolve(),
	};
	const events: RunTableEvent[] = [];
	let reads = 0;
	const session = new RunTableSession({
		store,
		post: (event) => events.push(decodeOrThrow(runTableEventSchema, structuredClone(event), 'An event')),
		read: (view) => {
			reads++;
			return readRow(view);
		},
	});
	t.after(() => session.dispose());
	changed.fire();
	assert.equal(events.length, 0, 'the page has not started');
	await session.begin();
	await until(() => events.at(-1)?.pending === 0);
	const [first, ...later] = events;
	assert.deepEqual([first?.type, first?.rows.length, first?.pending], ['rows', 2, 2]);
	assert.deepEqual(
		first?.rows.map(({ own }) => own),
		[true, false],
	);
	const read = later.flatMap(({ rows }) => rows).find((row) => row.folder === folder);
	assert.deepEqual(read?.recipe, { seed: 7, 'stages[0].type': 'grpo', 'stages[0].beta': 0.5 });
	assert.deepEqual([read?.metrics.reward, read?.metrics.kl], [0.75, 1]);
	assert.equal(reads, 2);
	events.length = 0;
	changed.fire();
	assert.equal(events.length, 0, 'nothing changed');
	store.runs = [viewOf(folder, 'running', 3)];
	changed.fire();
	await until(() => events.at(-1)?.pending === 0);
	assert.deepEqual(events[0]?.type === 'changes' && events[0].removed, [gone.folder]);
	assert.equal(reads, 3, 'only the changed run is read again');
});

test('non-finite values are omitted, because a single one would make the page reject all rows', () => {
	const view = { ...viewOf('/x', 'running', 1), accuracy: Number.NaN, reward: Number.POSITIVE_INFINITY };
	assert.deepEqual(rowOf(view, true, null).metrics, {});
	assert.deepEqual(rowOf({ ...view, accuracy: 0 }, true, null).metrics, { 'eval/heldout/accuracy': 0 });
});
