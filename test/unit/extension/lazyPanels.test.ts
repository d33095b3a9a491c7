import './vscodeHook.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serializers } from './vscodeStandIn.ts';

const { LazyPanels } = await import('../../../src/extension/lazyPanels.ts');

test('panels restored together all open, however long their code takes to load', async () => {
	const back: unknown[] = [];
	let loads = 0;
	const panels = new LazyPanels('lab.panel', async () => {
		loads++;
		await new Promise((resolve) => setTimeout(resolve, 5));
		return {
			open() {},
			deserializeWebviewPanel: async (_: unknown, state: unknown) => void back.push(state),
			dispose() {},
		};
	});
	const restore = (state: unknown) => {
		const serializer = serializers.get('lab.panel');
		assert.ok(serializer, 'No serializer found');
		return serializer.deserializeWebviewPanel({}, state);
	};
	await Promise.all([restore('a'), restore('b')]);
	await restore('c');
	assert.deepEqual([back, loads], [['a', 'b', 'c'], 1]);
	panels.dispose();
	assert.equal(serializers.size, 0);
});
