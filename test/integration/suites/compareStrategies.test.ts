import assert from 'node:assert/strict';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import * as vscode from 'vscode';
import { commandIds, panelTypes } from '../../../src/extension/ids.ts';
import type { ExtensionApi } from '../../../src/extension.ts';
import type { ComparisonSpecInput, ComparisonSummary } from '../../../src/protocol/strategyComparison.ts';
import { isBeingCompared, readComparisonSummary } from '../../../src/runs/comparisonFolder.ts';
import { activated, until, workspaceFolder } from '../support/laboratory.ts';

const rule = {
	prompt: 'sum *',
	say: [
		{ text: '<think>so\n</think><answer>$1</answer>', weight: 2 },
		{ text: '<think>or\n</think><answer>100</answer>', weight: 1 },
	],
};

function strategyTabs(): vscode.Tab[] {
	return vscode.window.tabGroups.all
		.flatMap(({ tabs }) => tabs)
		.filter(({ input }) => input instanceof vscode.TabInputWebview && input.viewType.endsWith(panelTypes.strategies));
}

suite('strategy comparison', () => {
	let api: ExtensionApi;
	let folder: string;

	suiteSetup(async () => {
		api = await activated();
		folder = join(workspaceFolder(), 'sums-to-compare');
		await mkdir(folder, { recursive: true });
		const rows = Array.from({ length: 12 }, (_, i) => `${JSON.stringify({ prompt: `sum ${i}`, answer: i })}\n`);
		await writeFile(join(folder, 'sums.jsonl'), rows.join(''));
	});

	suiteTeardown(async () => {
		await vscode.window.tabGroups.close(strategyTabs());
		await rm(folder, { recursive: true, force: true });
		await rm(join(workspaceFolder(), 'comparisons'), { recursive: true, force: true });
	});

	/** Returns a spec that compares two strategies on a script, which responds immediately or after a delay. */
	async function specOf(name: string, delayMs: number): Promise<ComparisonSpecInput> {
		const file = join(folder, `${name}.json`);
		await writeFile(file, JSON.stringify({ rules: [{ ...rule, delayMs }] }));
		return {
			name,
			policy: { kind: 'scripted', file },
			problems: { from: 'file', path: join(folder, 'sums.jsonl') },
			samples: 4,
			bandSamples: 2,
			searches: 2,
			strategies: [
				{ strategy: 'self-consistency', params: { n: 4 } },
				{
					strategy: 'best-of-n',
					judge: { use: 'mean-logprob' },
					params: { n: 2 },
					points: [{ budget: { tokens: 200 } }],
				},
			],
		};
	}

	async function untilSummary(
		path: string,
		what: string,
		holds: (summary: ComparisonSummary) => boolean,
	): Promise<ComparisonSummary> {
		for (const end = Date.now() + 60_000; Date.now() < end; ) {
			const summary = await readComparisonSummary(path).catch(() => null);
			if (summary !== null && holds(summary)) return summary;
			await new Promise((resolve) => setTimeout(resolve, 50));
		}
		throw new Error(`Timed out waiting until ${what}`);
	}

	test('the command compares two strategies in a live panel, and a point opens its tree', async () => {
		const spec = await specOf('quick', 0);
		const path: string = await vscode.commands.executeCommand(commandIds.compareStrategies, { spec });
		assert.equal(dirname(path), join(workspaceFolder(), 'comparisons'));
		await until('the panel', () => strategyTabs().length === 1);
		const summary = await untilSummary(path, 'the comparison ends', ({ state }) => state === 'ended');
		assert.deepEqual(
			summary.points.map(({ name, problems }) => [name, problems]),
			[
				['single sample', 12],
				['self-consistency', 12],
				['best-of-n by mean-logprob', 12],
			],
		);
		// Open it again: the existing panel must come to the front.
		assert.equal(await vscode.commands.executeCommand(commandIds.compareStrategies, { folder: path }), path);
		assert.equal(strategyTabs().length, 1);
		const trees = join(path, 'trees', 's1p0');
		const [tree] = await readdir(trees);
		await vscode.commands.executeCommand(commandIds.openSearchTree, join(trees, tree as string));
		const treeTab = () =>
			vscode.window.tabGroups.activeTabGroup.tabs.find(
				({ input }) => input instanceof vscode.TabInputWebview && input.viewType.endsWith(panelTypes.tree),
			);
		await until('the tree', () => treeTab() !== undefined);
		await vscode.window.tabGroups.close(treeTab() as vscode.Tab);
	});

	test('a running comparison is stopped and then continued to completion', async () => {
		const path = join(folder, 'slow');
		const spec = await specOf('slow', 40);
		await vscode.commands.executeCommand(commandIds.compareStrategies, { spec, folder: path });
		const { comparisons, searches } = await api.searches.get();
		assert.ok(comparisons.actions.running(path));
		assert.ok(searches.comparing.has(path));
		await comparisons.actions.stop(path);
		const stopped = await untilSummary(path, 'the comparison is stopped', ({ state }) => state !== 'running');
		assert.equal(stopped.state, 'stopped');
		assert.ok(stopped.done < stopped.total);
		await until('the comparison is no longer running', () => !comparisons.actions.running(path));
		assert.equal(await isBeingCompared(path), false);
		await comparisons.actions.goOn(path);
		const ended = await untilSummary(path, 'the comparison ends', ({ state }) => state === 'ended');
		assert.equal(ended.done, ended.total);
	});

	test('a comparison that cannot start reports why and opens nothing', async () => {
		const before = strategyTabs().length;
		const spec = { ...(await specOf('missing', 0)), policy: { kind: 'scripted', file: join(folder, 'nobody.json') } };
		const path = join(folder, 'missing-comparison');
		assert.equal(await vscode.commands.executeCommand(commandIds.compareStrategies, { spec, folder: path }), undefined);
		assert.equal(await vscode.commands.executeCommand(commandIds.compareStrategies, { folder }), undefined);
		assert.equal(await vscode.commands.executeCommand(commandIds.compareStrategies, { spec: 3 }), undefined);
		assert.equal(strategyTabs().length, before, basename(path));
	});
});
