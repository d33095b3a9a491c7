import './vscodeHook.ts';
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Emitter } from '../../../src/base/event.ts';
import type { EvaluationStore } from '../../../src/extension/evaluation/evaluationStore.ts';
import { commandIds, viewIds } from '../../../src/extension/ids.ts';
import type { PipelineStore } from '../../../src/extension/pipelines/pipelineStore.ts';
import type { RunStore } from '../../../src/extension/runStore.ts';
import type { RunView } from '../../../src/extension/runView.ts';
import { viewOf } from './fixtureRun.ts';

const { otherFoldersRow, RunsTree } = await import('../../../src/extension/runsTree.ts');
const { commands, selections } = await import('./vscodeStandIn.ts');

/** Opens the tree on fake runs and records the rows that it asks the editor to redraw. */
function openTree(t: TestContext): {
	readonly tree: InstanceType<typeof RunsTree>;
	readonly store: { runs: RunView[]; own: RegExp };
	readonly drawn: (string[] | undefined)[];
	/** Replaces the runs. @returns what is redrawn: rows, or undefined for the whole list */
	become(...runs: RunView[]): (string[] | undefined)[];
} {
	const store = { runs: [] as RunView[], own: /./, changed: new Emitter<void>() };
	const none = new Emitter<void>().event;
	const tree = new RunsTree(
		{
			get runs() {
				return store.runs;
			},
			onDidChange: store.changed.event,
			get: (folder: string) => store.runs.find((run) => run.folder === folder),
			isOwn: (folder: string) => store.own.test(folder),
		} as unknown as RunStore,
		{
			pipelines: [],
			onDidChange: none,
			get: () => undefined,
			around: () => undefined,
			stageAt: () => undefined,
			evaluationAt: () => undefined,
			rowOf: () => null,
		} as unknown as PipelineStore,
		{ onDidChange: none, get: () => undefined, of: () => [], rowOf: () => null } as unknown as EvaluationStore,
	);
	t.after(() => tree.dispose());
	const drawn: (string[] | undefined)[] = [];
	tree.onDidChangeTreeData((rows) => drawn.push(rows));
	return {
		tree,
		store,
		drawn,
		become: (...runs) => {
			store.runs = runs;
			store.changed.fire();
			return drawn.splice(0);
		},
	};
}

test('step changes of a running run are redrawn once a second, and status and other changes immediately', (t) => {
	t.mock.timers.enable({ apis: ['setInterval'] });
	const { drawn, become } = openTree(t);

	assert.deepEqual(become(viewOf('/a', 'running', 1)), [undefined], 'the run is new');
	assert.deepEqual(become(viewOf('/a', 'running', 2)), []);
	assert.deepEqual(become(viewOf('/a', 'running', 3)), []);
	t.mock.timers.tick(1000);
	assert.deepEqual(drawn.splice(0), [['/a']]);
	assert.deepEqual(become(viewOf('/a', 'paused', 3)), [['/a']], 'the status has changed');
	assert.deepEqual(become(viewOf('/a', 'running', 4), viewOf('/b', 'running', 1)), [undefined], 'a run was added');
	assert.deepEqual(become(viewOf('/a', 'finished', 5), viewOf('/b', 'running', 2)), [['/a']]);
	assert.deepEqual(become(viewOf('/a', 'finished', 5), viewOf('/b', 'finished', 3)), [['/b']]);
	assert.deepEqual(become(viewOf('/a', 'finished', 6), viewOf('/b', 'finished', 3)), [['/a']], 'no run is running');
	t.mock.timers.tick(1000);
	assert.deepEqual(drawn, []);
});

test('an unchanged list is not reloaded, because the editor would lose its rows until it has loaded', (t) => {
	t.mock.timers.enable({ apis: ['setInterval'] });
	const { tree, store, become } = openTree(t);
	const [a, b] = [viewOf('/a', 'finished', 1), viewOf('/b', 'finished', 1)];
	store.runs = [a];
	assert.deepEqual(tree.getChildren(), ['/a']);
	assert.deepEqual(become(a), [['/a']], 'the text of the row is not known yet');
	assert.deepEqual(become(a), []);
	assert.deepEqual(become(a, b), [undefined], 'a run was added');
	assert.deepEqual(become(a, b), []);
	assert.deepEqual(become(b, a), [undefined], 'the order has changed');
	assert.deepEqual(become(a), [undefined], 'a run was removed');
});

test('a click opens the selected row even if the row was redrawn in the meantime', async (t) => {
	t.mock.timers.enable({ apis: ['setInterval'] });
	const { tree, become } = openTree(t);
	become(viewOf('/a', 'running', 1), viewOf('/b', 'running', 1));
	const opened: unknown[][] = [];
	commands.registerCommand(commandIds.openDashboard, (...args) => opened.push(args));
	const command = tree.getTreeItem('/b').command;
	// The editor forgets arguments when the row is redrawn.
	assert.deepEqual(Object.keys(command ?? {}), ['command', 'title']);
	selections.set(viewIds.runs, ['/b']);
	await commands.executeCommand(command?.command ?? '');
	assert.deepEqual(opened, [['/b']]);
	selections.set(viewIds.runs, []);
	await commands.executeCommand(command?.command ?? '');
	assert.equal(opened.length, 1);
});

test('runs in other folders are in a group at the end, which an empty workspace shows only on request', async (t) => {
	t.mock.timers.enable({ apis: ['setInterval'] });
	const { tree, store, become } = openTree(t);
	store.own = /^\/w\//;
	const [own, one, two] = [
		viewOf('/w/runs/a', 'finished', 1),
		viewOf('/x/runs/b', 'running', 1),
		viewOf('/y/c', 'crashed', 1),
	];
	become(one, two);
	assert.deepEqual(tree.getChildren(), [], 'the view explains how to start');
	become(one, own, two);
	assert.deepEqual(tree.getChildren(), ['/w/runs/a', otherFoldersRow]);
	assert.deepEqual(tree.getChildren(otherFoldersRow), ['/x/runs/b', '/y/c']);
	const group = tree.getTreeItem(otherFoldersRow);
	assert.deepEqual(
		[group.label, group.description, group.collapsibleState, group.command],
		['Other Folders', '2', 1, undefined],
	);
	assert.deepEqual([tree.getParent('/w/runs/a'), tree.getParent('/y/c')], [undefined, otherFoldersRow]);
	assert.match(String(tree.getTreeItem('/x/runs/b').label), /\(x\)/, 'the project is named');
	selections.set(viewIds.runs, [otherFoldersRow, '/y/c']);
	assert.deepEqual(tree.selection, ['/y/c'], 'the group is not a run');
	selections.set(viewIds.runs, []);
	become(one, two);
	await tree.showOthers();
	assert.deepEqual(tree.getChildren(), [otherFoldersRow]);
});
