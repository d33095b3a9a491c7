import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { Emitter } from '../../../../src/base/event.ts';
import type { VerificationView } from '../../../../src/extension/rewards/inlineResults.ts';
import type { RewardFileList } from '../../../../src/extension/rewards/rewardFileList.ts';
import type { RewardItem } from '../../../../src/extension/rewards/rewardsTree.ts';
import { workspace } from '../vscodeStandIn.ts';

const rewardWords = await import('../../../../src/extension/rewards/rewardWords.ts');
const { RewardsTree } = await import('../../../../src/extension/rewards/rewardsTree.ts');

before(() => Object.assign(workspace, { asRelativePath: () => '', getWorkspaceFolder: () => undefined }));

test('reward rows are redrawn individually, or with their file if its description or rewards change', async (t) => {
	const file = '/w/a.reward.ts';
	const files = { onDidChange: new Emitter<void>().event, files: async () => [file], rewardsOf: async () => ['one'] };
	const tree = new RewardsTree(files as unknown as RewardFileList);
	t.after(() => tree.dispose());
	const verified = new Emitter<string>();
	let state: object | undefined;
	tree.follow({ onDidChange: verified.event, get: () => state } as unknown as VerificationView, rewardWords);
	let drawn: (RewardItem[] | undefined)[] = [];
	tree.onDidChangeTreeData((rows) => drawn.push(rows));
	/** Draws rows and rereads their children, like the editor does. */
	const draw = async (rows: readonly RewardItem[]) => {
		for (const row of rows) {
			tree.getTreeItem(row);
			for (const child of await tree.getChildren(row)) tree.getTreeItem(child);
		}
	};
	const news = async (next: object) => {
		state = { results: new Map(), ...next };
		verified.fire(file);
		const rows = drawn.flatMap((one) => one ?? []);
		drawn = [];
		await draw(rows);
		return rows.map((row) => (row.kind === 'reward' ? row.reward : row.kind));
	};
	await draw(await tree.getChildren());
	const one = { name: 'one', location: null };
	const two = { name: 'two', location: null };
	assert.deepEqual(await news({ phase: 'loading', rewards: [] }), ['one'], 'the rewards are known from the text');
	assert.deepEqual(await news({ phase: 'running', rewards: [one] }), ['one']);
	assert.deepEqual(await news({ phase: 'done', rewards: [one] }), ['one']);
	assert.deepEqual(await news({ phase: 'done', rewards: [one, two] }), ['file']);
	assert.deepEqual(await news({ phase: 'done', rewards: [one, two] }), ['one', 'two']);
	assert.deepEqual(await news({ phase: 'failed', rewards: [one, two], failure: { message: 'no' } }), ['file']);
	assert.deepEqual(await news({ phase: 'failed', rewards: [one, two], failure: { message: 'no' } }), ['one', 'two']);
	assert.deepEqual(await news({ phase: 'done', rewards: [one, two] }), ['file'], 'the file no longer has an error');
});
