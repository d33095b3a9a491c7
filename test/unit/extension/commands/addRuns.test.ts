import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { cp, mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import { annotationFolderOf } from '../../../../src/runs/annotationFolder.ts';
import { openRun } from '../../../../src/runs/openRun.ts';
import { renameRun } from '../../../../src/runs/runActions.ts';
import { readAnnotation } from '../../../../src/runs/runReader.ts';
import { RunRegistry } from '../../../../src/runs/runRegistry.ts';
import { root } from '../../../scripts/paths.ts';
import { writeFiles } from '../../runs/importers/madeRun.ts';
import { writeRecord } from '../fixtureRun.ts';
import { picks } from '../vscodeStandIn.ts';

const { addRuns } = await import('../../../../src/extension/commands/addRuns.ts');
const { loadRun } = await import('../../../../src/extension/runLoader.ts');
const { RunStore } = await import('../../../../src/extension/runStore.ts');
const { presentRun } = await import('../../../../src/extension/runPresentation.ts');
const { flagsOf, hasEnded, isForeign, isLive, isResumable, isRunning } = await import(
	'../../../../src/extension/runView.ts'
);

const place = await realpath(await mkdtemp(join(tmpdir(), 'add-runs-')));
process.env.REASONING_LAB_HOME = join(place, 'home');
const registry = new RunRegistry();
const fixtures = join(root, 'test/fixtures');
const verl = join(place, 'outputs/verl');
const trl = join(place, 'outputs/trl');
await cp(join(fixtures, 'verl'), verl, { recursive: true });
await cp(join(fixtures, 'trl-quirks'), trl, { recursive: true });
after(() => rm(place, { recursive: true, force: true }));
beforeEach(() => {
	picks.length = 0;
});

test('a single run is added directly, and the registry remembers its reader', async () => {
	assert.deepEqual(await addRuns(verl, registry, undefined), [{ folder: verl, foreign: true }]);
	assert.deepEqual(await registry.listForeign(), [verl]);
	assert.deepEqual(await registry.list(), []);
	assert.equal(await registry.readerOf(verl), 'verl');
});

test('the user chooses among several runs', async () => {
	picks.push((items) => {
		assert.deepEqual(
			items.map(({ label, description }) => [label, description]),
			[
				['trl', 'TRL'],
				['verl', 'verl'],
			],
		);
		return [items[0]];
	});
	assert.deepEqual(await addRuns(join(place, 'outputs'), registry, undefined), [{ folder: trl, foreign: true }]);
	picks.push(undefined);
	assert.equal(await addRuns(join(place, 'outputs'), registry, undefined), null);
});

test('the user chooses among several readers, and the folder keeps the chosen one', async () => {
	const both = join(place, 'both');
	await cp(trl, both, { recursive: true });
	await writeFiles(both, { 'rollouts/1.jsonl': [{ input: 'q', output: 'a', gts: null, score: 1, step: 1 }] });
	picks.push((items) => items.find(({ label }) => label === 'verl'));
	assert.deepEqual(await addRuns(both, registry, undefined), [{ folder: both, foreign: true }]);
	assert.equal((await openRun(both)).format, 'verl');
	assert.equal((await openRun(both, { format: 'trl' })).format, 'trl');
	await addRuns(both, registry, 'trl');
	assert.equal((await openRun(both)).format, 'trl');
});

test('native runs are added without prompting', async () => {
	const runs = join(place, 'project/runs');
	await writeRecord(join(runs, 'a'));
	await writeRecord(join(runs, 'b'));
	const added = await addRuns(join(place, 'project'), registry, undefined);
	assert.deepEqual(
		added?.map(({ folder, foreign }) => [folder, foreign]),
		[
			[join(runs, 'a'), false],
			[join(runs, 'b'), false],
		],
	);
	assert.equal((await registry.list()).length, 2);
});

test('a folder without runs is reported with the formats that were tried', async () => {
	const empty = join(place, 'empty');
	await writeFiles(empty, { 'notes.txt': 'nothing' });
	await assert.rejects(addRuns(empty, registry, undefined), (error: unknown) => {
		assert.ok(error instanceof Failure && error.reason === 'invalid');
		assert.match(
			error.message,
			/does not contain a run\. Looked for: run\.json.*trainer_state\.json.*\(TRL\).*tfevents/,
		);
		return true;
	});
});

test('a run by another trainer is listed with the data in its files, without actions that need an engine', async (t) => {
	const store = new RunStore(
		[{ list: () => registry.listForeign(), onDidChange: () => ({ dispose() {} }) }],
		(error) => {
			throw error;
		},
	);
	t.after(() => store.dispose());
	store.start();
	await store.ready;
	const view = store.get(verl);
	assert.ok(view?.record);
	assert.equal(view.record.step, 4);
	assert.equal(view.reward === null ? null : view.reward.toFixed(4), '0.6371');
	assert.deepEqual(
		[isForeign(view), isLive(view), isRunning(view), isResumable(view), hasEnded(view)],
		[true, false, false, false, false],
	);
	assert.deepEqual(flagsOf(view), ['run', 'foreign']);
	const shown = presentRun(view, Date.now() / 1000);
	assert.equal(shown.label, 'verl');
	assert.match(shown.description, /^verl · 4 · reward 0\.64/);
	const tooltip = new Map(shown.tooltip);
	assert.equal(tooltip.get('Trainer'), 'verl');
	assert.match(tooltip.get('Notes') ?? '', /no group id/);
	assert.ok(!tooltip.has('Engine') && !tooltip.has('Device'));
	// A deleted folder disappears from the list.
	await rm(trl, { recursive: true });
	await store.refresh();
	assert.equal(store.get(trl), undefined);
	assert.ok(store.get(verl));
});

test('the display name of such a run is stored in the registry, not in its folder', async () => {
	const before = await readdir(verl, { recursive: true });
	await renameRun(verl, 'my run');
	assert.equal((await readAnnotation(verl)).name, 'my run');
	assert.equal((await loadRun(verl)).annotation?.name, 'my run');
	assert.ok((await annotationFolderOf(verl)).startsWith(join(place, 'home')));
	assert.deepEqual(await readdir(verl, { recursive: true }), before);
});
