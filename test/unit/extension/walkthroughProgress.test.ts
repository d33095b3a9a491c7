import './vscodeHook.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Emitter } from '../../../src/base/event.ts';
import type { CommandResult } from '../../../src/extension/commandTable.ts';
import { commandIds } from '../../../src/extension/ids.ts';
import type { RunView } from '../../../src/extension/runView.ts';
import { viewOf } from './fixtureRun.ts';

const { WalkthroughProgress } = await import('../../../src/extension/walkthroughProgress.ts');
const { commands } = await import('./vscodeStandIn.ts');

test('a step is completed by what it describes, not by a click or by runs in other folders', (t) => {
	const set: string[] = [];
	commands.registerCommand('setContext', (key) => set.push(String(key).replace('reasoningLab.walkthrough.', '')));
	const completed = new Emitter<CommandResult>();
	const changed = new Emitter<void>();
	const store = { own: [] as RunView[], onDidChange: changed.event };
	const progress = new WalkthroughProgress({ table: { onDidComplete: completed.event }, store });
	t.after(() => progress.dispose());
	const added = (...runs: RunView[]) => {
		store.own = [...store.own, ...runs];
		changed.fire();
		return set.splice(0);
	};
	const withEngine = (engine: string): RunView => {
		const view = viewOf(`/${engine}`, 'running', 1);
		return { ...view, record: { ...view.record, engine } as RunView['record'] };
	};
	assert.deepEqual(added(viewOf('/a', 'starting', 0)), [], 'it has not trained yet');
	assert.deepEqual(added(viewOf('/b', 'running', 1)), ['demo']);
	assert.deepEqual(added(viewOf('/c', 'running', 2)), [], 'only once');
	assert.deepEqual(added(withEngine('foreign')), ['otherTrainer']);
	assert.deepEqual(added(withEngine('pytorch')), ['pretrained']);
	const ran = (id: CommandResult['id'], result: unknown) => {
		completed.fire({ id, result });
		return set.splice(0);
	};
	assert.deepEqual(ran(commandIds.newSearch, undefined), [], 'canceled');
	assert.deepEqual(ran(commandIds.newSearch, '/searches/1.jsonl'), ['search']);
	assert.deepEqual(ran(commandIds.openRollouts, '/b'), ['rollouts']);
	assert.deepEqual(ran(commandIds.startRun, '/d'), ['ownData']);
	assert.deepEqual(ran(commandIds.openDashboard, '/d'), []);
});
