import assert from 'node:assert/strict';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { type RunSource, RunStore } from '../../../src/extension/runStore.ts';
import type { RunView } from '../../../src/extension/runView.ts';
import { ownIdentity } from '../../../src/processes/processIdentity.ts';
import { annotateRun } from '../../../src/runs/runActions.ts';
import { writeRecord } from './fixtureRun.ts';

const root = await realpath(await mkdtemp(join(tmpdir(), 'store-')));
after(() => rm(root, { recursive: true, force: true }));

function sourceOf(folders: string[]): RunSource {
	return { list: async () => folders, onDidChange: () => ({ dispose() {} }) };
}

function open(t: TestContext, sources: readonly RunSource[]): RunStore {
	const store = new RunStore(sources, (error) => {
		throw error;
	});
	t.after(() => store.dispose());
	return store;
}

/** Resolves on the first snapshot in which the run matches; the test timeout bounds the wait. */
function seen(store: RunStore, folder: string, fits: (view: RunView | undefined) => boolean): Promise<void> {
	return new Promise((resolve) => {
		const look = () => {
			if (!fits(store.get(folder))) return;
			subscription.dispose();
			resolve();
		};
		const subscription = store.onDidChange(look);
		look();
	});
}

test('lists the runs of all sources once, newest first, and skips folders without a run', async (t) => {
	const [a, b, gone] = [join(root, 'a'), join(root, 'b'), join(root, 'gone')];
	await writeRecord(a, { created: 10 });
	await writeRecord(b, { created: 20 });
	const store = open(t, [sourceOf([a, gone]), sourceOf([b, `${a}/`])]);
	store.start();
	await store.ready;
	assert.deepEqual(
		store.runs.map(({ folder, status }) => [folder, status]),
		[
			[b, 'finished'],
			[a, 'finished'],
		],
	);
	await rm(b, { recursive: true });
	await store.refresh();
	assert.deepEqual(
		store.runs.map(({ folder }) => folder),
		[a],
	);
});

test('a failing source does not hide the others', async (t) => {
	const folder = join(root, 'visible');
	await writeRecord(folder);
	const broken: RunSource = { list: () => Promise.reject(new Error('no')), onDidChange: () => ({ dispose() {} }) };
	const store = open(t, [broken, sourceOf([folder])]);
	store.start();
	await store.ready;
	assert.equal(store.get(folder)?.status, 'finished');
});

test('follows a live run to its end', { timeout: 30_000 }, async (t) => {
	const folder = join(root, 'live');
	const identity = await ownIdentity();
	await writeRecord(folder, { ...identity, status: 'running', step: 1 });
	const store = open(t, [sourceOf([folder])]);
	store.start();
	await store.ready;
	assert.equal(store.get(folder)?.status, 'running');
	await writeRecord(folder, { ...identity, status: 'running', step: 2 });
	await seen(store, folder, (view) => view?.record?.step === 2);
	await writeRecord(folder, { ...identity, status: 'finished', step: 3 });
	await seen(store, folder, (view) => view?.status === 'finished');
	// The run was resumed by another process.
	await writeRecord(folder, { ...identity, status: 'running', step: 3, attempt: 2 });
	await store.refresh();
	assert.equal(store.get(folder)?.status, 'running');
});

test('a run recorded as running whose process is gone is shown as crashed', async (t) => {
	const folder = join(root, 'dead');
	await writeRecord(folder, { ...(await ownIdentity()), processStart: 'another time', status: 'running' });
	const store = open(t, [sourceOf([folder])]);
	store.start();
	await store.ready;
	assert.equal(store.get(folder)?.status, 'crashed');
});

test('annotations of an ended run appear on the next refresh', async (t) => {
	const folder = join(root, 'described');
	await writeRecord(folder);
	const store = open(t, [sourceOf([folder])]);
	store.start();
	await store.ready;
	await annotateRun(folder, { name: 'mine' });
	await store.refresh();
	assert.equal(store.get(folder)?.annotation?.name, 'mine');
});

test('a given folder is added or rejected with a message', async (t) => {
	const folder = join(root, 'named');
	await writeRecord(folder);
	const store = open(t, [sourceOf([])]);
	assert.equal((await store.require(folder)).folder, folder);
	await assert.rejects(store.require(join(root, 'nothing')), /is not a run folder/);
});
