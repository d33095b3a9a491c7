import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Emitter } from '../../../../src/base/event.ts';
import type { SearchPresentation } from '../../../../src/extension/search/searchPresentation.ts';

const { SearchesTree } = await import('../../../../src/extension/search/searchesTree.ts');

const saying = (description: string): SearchPresentation => ({
	label: 'a search',
	description,
	icon: { id: 'pulse', color: null },
	contextValue: '',
	tooltip: [],
	spoken: '',
});

test('changed rows are redrawn, and the list only if it has changed', async (t) => {
	const changed = new Emitter<void>();
	const rows = new Map([
		['/a', '1 node'],
		['/b', '1 node'],
	]);
	const list = {
		logs: async () => [...rows.keys()],
		get known() {
			return [...rows.keys()];
		},
		present: (log: string) => saying(rows.get(log) ?? ''),
		watched: false,
		onDidChange: changed.event,
	};
	const tree = new SearchesTree(async () => list);
	t.after(() => tree.dispose());
	const drawn: (string[] | undefined)[] = [];
	tree.onDidChangeTreeData((rows) => drawn.push(rows));
	/** Draws a list or rows like the editor does. */
	const draw = (logs: readonly string[]) => {
		for (const log of logs) tree.getTreeItem(log);
	};
	const news = () => {
		changed.fire();
		const redrawn = drawn.splice(0);
		draw(redrawn.flat().filter((log) => log !== undefined));
		return redrawn;
	};
	draw(await tree.getChildren());
	assert.deepEqual(news(), []);
	rows.set('/a', '2 nodes');
	assert.deepEqual(news(), [['/a']]);
	assert.deepEqual(news(), []);
	rows.set('/c', '1 node');
	assert.deepEqual(news(), [undefined]);
	draw(await tree.getChildren());
	rows.set('/b', '2 nodes');
	assert.deepEqual(news(), [['/b']]);
	rows.delete('/a');
	assert.deepEqual(news(), [undefined]);
});
