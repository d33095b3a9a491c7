import './vscodeHook.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../../src/base/failure.ts';
import type { RunStore } from '../../../src/extension/runStore.ts';
import type { RunsTree } from '../../../src/extension/runsTree.ts';
import type { RunView } from '../../../src/extension/runView.ts';
import { viewOf } from './fixtureRun.ts';
import { picks, Uri } from './vscodeStandIn.ts';

const { RunPicker, selectionArgument } = await import('../../../src/extension/runPicker.ts');

const views = ['/runs/a', '/runs/b', '/runs/c'].map((folder) => viewOf(folder, 'finished', 3));
const question = { title: 'Stop a run', what: 'can be stopped', applies: () => true };
const only = (...folders: string[]) => ({ ...question, applies: ({ folder }: RunView) => folders.includes(folder) });

function picker(selection: readonly string[] = []) {
	const store = {
		ready: Promise.resolve(),
		runs: views,
		own: views,
		require: async (folder: string) => {
			const found = views.find((view) => view.folder === folder);
			if (found === undefined) throw new Failure('missing', `${folder} is not a run.`);
			return found;
		},
	};
	return new RunPicker(store as unknown as RunStore, { selection } as unknown as RunsTree);
}

const folders = (found: readonly RunView[] | undefined) => found?.map(({ folder }) => folder);
const [, b, c] = views as [RunView, RunView, RunView];
const row = (name: string) => Uri.file(`/runs/${name}`);

test('the specified run is used, together with all other selected runs', async () => {
	assert.equal(await picker().one(['/runs/b'], question), b);
	assert.equal(await picker().one([row('b'), [row('a'), row('b')]], question), b, 'only the clicked run is used');
	assert.deepEqual(folders(await picker().many([row('b'), [row('a'), row('b')]], question)), ['/runs/a', '/runs/b']);
	assert.deepEqual(
		folders(await picker().many([row('c'), [row('a'), row('b')]], question)),
		['/runs/c'],
		'a run outside the selection is used alone',
	);
	assert.deepEqual(folders(await picker(['/runs/a', '/runs/c']).many([selectionArgument], question)), [
		'/runs/a',
		'/runs/c',
	]);
});

test('only applicable runs are used, and an error is reported if there are none', async () => {
	assert.deepEqual(
		folders(await picker().many([row('a'), [row('a'), row('b'), row('c')]], only('/runs/b', '/runs/c'))),
		['/runs/b', '/runs/c'],
	);
	await assert.rejects(picker().one([row('a')], only('/runs/b')), {
		reason: 'unsupported',
		message: /cannot be stopped/,
	});
	await assert.rejects(picker().one(['/runs/gone'], question), { reason: 'missing' });
});

test('without arguments, the only applicable run is used, or the user picks from several', async () => {
	assert.equal(await picker().one([], only('/runs/b')), b);
	await assert.rejects(picker().one([], only()), { reason: 'missing', message: 'No run can be stopped.' });
	picks.push((items) => {
		assert.equal(items.length, 2);
		return items[1];
	});
	assert.equal(await picker().one([], only('/runs/a', '/runs/c')), c);
	picks.push(undefined);
	assert.equal(await picker().one([], question), undefined, 'the quick pick was dismissed');
});

test('runs in other folders are not offered, but can be named', async () => {
	const store = { ready: Promise.resolve(), runs: views, own: [], require: async () => b };
	const other = new RunPicker(store as unknown as RunStore, { selection: [] } as unknown as RunsTree);
	await assert.rejects(other.one([], question), { message: 'No run can be stopped.', action: /"Other Folders"/ });
	assert.equal(await other.one(['/runs/b'], question), b);
});
