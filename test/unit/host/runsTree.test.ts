import './vscodeHook.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Emitter } from '../../../src/base/event.ts';
import type { EvaluationStore } from '../../../src/host/evaluation/evaluationStore.ts';
import type { PipelineStore } from '../../../src/host/pipelines/pipelineStore.ts';
import type { RunStore } from '../../../src/host/runStore.ts';
import type { RunView } from '../../../src/host/runView.ts';
import { viewOf } from './fixtureRun.ts';

const { RunsTree } = await import('../../../src/host/runsTree.ts');

test('steps of a run at work are redrawn once a second, its state and everything else at once', (t) => {
	t.mock.timers.enable({ apis: ['setInterval'] });
	const store = { runs: [] as RunView[], changed: new Emitter<void>() };
	const none = new Emitter<void>().event;
	const tree = new RunsTree(
		{
			get runs() {
				return store.runs;
			},
			onDidChange: store.changed.event,
			get: (folder: string) => store.runs.find((run) => run.folder === folder),
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
	const become = (...runs: RunView[]) => {
		store.runs = runs;
		store.changed.fire();
		return drawn.splice(0);
	};

	assert.deepEqual(become(viewOf('/a', 'running', 1)), [undefined], 'it is new');
	assert.deepEqual(become(viewOf('/a', 'running', 2)), []);
	assert.deepEqual(become(viewOf('/a', 'running', 3)), []);
	t.mock.timers.tick(1000);
	assert.deepEqual(drawn.splice(0), [['/a']]);
	assert.deepEqual(become(viewOf('/a', 'paused', 3)), [['/a']], 'its state has changed');
	assert.deepEqual(become(viewOf('/a', 'running', 4), viewOf('/b', 'running', 1)), [undefined], 'another came');
	assert.deepEqual(become(viewOf('/a', 'finished', 5), viewOf('/b', 'running', 2)), [['/a']]);
	assert.deepEqual(become(viewOf('/a', 'finished', 5), viewOf('/b', 'finished', 3)), [['/b']]);
	assert.deepEqual(become(viewOf('/a', 'finished', 6), viewOf('/b', 'finished', 3)), [['/a']], 'nothing is at work');
	t.mock.timers.tick(1000);
	assert.deepEqual(drawn, []);
});
