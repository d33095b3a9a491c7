// @reaches engine dashboard search tree strategies playground newSearch
import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { root } from '../scripts/paths.ts';
import { skip } from '../support/chromium.ts';
import { countClicks } from './clickSteps.ts';
import { diagnoseRun, openEndedRuns, prepareCrashedRun } from './endedRunSteps.ts';
import { inOrder, Laboratory, readLines, waitUntil } from './laboratory.ts';
import { TreePage } from './pages/treePage.ts';
import type { WorkbenchPage } from './pages/workbenchPage.ts';
import { preparePlayground, usePlayground } from './playgroundSteps.ts';

const thought = (lines: readonly string[], answer: string) =>
	`<think>\n${lines.join('\n')}\n</think>\n<answer>${answer}</answer>`;

/** Policy for 3 * 4 + 5 - 2 that can make a mistake at every step. Requests are slow enough to watch the tree grow. */
const script = {
	name: 'a careless pupil',
	rules: [
		{
			delayMs: 2000,
			say: ['3 * 4 = 12', '3 * 4 = 14', 'First the product: 12'].flatMap((first) =>
				['12 + 5 = 17', '12 + 5 = 16', '14 + 5 = 19'].flatMap((second) =>
					['17 - 2 = 15', '16 - 2 = 14', '19 - 2 = 17'].map((third) =>
						thought([first, second, third], third.split('= ')[1] as string),
					),
				),
			),
		},
	],
};

/** A tree from another program. test/unit/search/formats covers the other formats. */
const tree = {
	file: 'tree-tot/logs/game24/gpt-4_0.7_propose1_value3_greedy5_start900_end1000.json',
	title: /propose1/,
	facts: /Tree of Thoughts.* 80 nodes/i,
};

test('ended runs, and views that run a policy', { skip }, async (t) => {
	const lab = await Laboratory.open(t, 'policies');
	await preparePlayground(lab);
	await prepareCrashedRun(lab);
	lab.write(
		'problems.jsonl',
		['3 * 4 + 5 - 2', '2 * 2 + 1 - 1']
			.map((prompt, i) => JSON.stringify({ prompt, answer: i === 0 ? '15' : '4' }))
			.join('\n'),
	);
	cpSync(join(root, 'test/fixtures', tree.file), join(lab.workspace, tree.file));
	cpSync(join(root, 'test/fixtures/trl-run'), join(lab.workspace, 'trl-run'), { recursive: true });
	cpSync(join(root, 'test/fixtures/wandb-offline'), join(lab.workspace, 'offline-run'), { recursive: true });
	cpSync(join(root, 'test/fixtures/verl/rollouts'), join(lab.workspace, 'text-run'), { recursive: true });
	const workbench = await lab.workbench();
	await t.test('a finished run and a crashed run open in the same views', (t) =>
		openEndedRuns(t, lab, workbench, 'addition'),
	);
	await t.test('a failing run is diagnosed while it trains', (t) => diagnoseRun(t, lab, workbench));
	await workbench.command('View: Close All Editors');
	await t.test('the playground queries a run’s checkpoint, branches at a token, compares, and saves a case', (t) =>
		usePlayground(t, lab, workbench),
	);
	await t.test('frequent tasks take few clicks', (t) =>
		countClicks(t, lab, workbench, {
			...{ run: 'addition', other: 'killed' },
			...{ foreign: 'trl-run', offline: 'offline-run', text: 'text-run' },
		}),
	);
	await t.test('starts a search on a row, watches, replays and branches it, and compares two', (t) =>
		search(t, lab, workbench),
	);
	await t.test('opens a tree from another program', () => openTree(lab, workbench));
});

async function search(t: TestContext, lab: Laboratory, workbench: WorkbenchPage): Promise<void> {
	const step = inOrder(t);
	const { page } = workbench;
	const played = lab.write('pupil.json', script);
	const quick = lab.write('quick.json', { ...script, rules: script.rules.map((rule) => ({ ...rule, delayMs: 0 })) });
	let tree: TreePage;

	await step('MCTS starts from the palette on a dataset row', async () => {
		await workbench.openFile('problems.jsonl');
		// By then the extension has read the file as well.
		await page.locator('.codelens-decoration').filter({ hasText: 'Search on This Row' }).first().waitFor();
		await workbench.command('Search on This Row');
		const form = await workbench.app('newSearch');
		await form.getByLabel('Policy', { exact: true }).waitFor();
		assert.equal(await form.getByLabel('Problem', { exact: true }).inputValue(), '3 * 4 + 5 - 2');
		await workbench.screenshot('search-form');
		await form.getByLabel('Policy', { exact: true }).selectOption({ label: 'Another policy…' });
		await workbench.asked('New Search: policy');
		await workbench.pick('A script...');
		await workbench.fileDialog(played, 'pupil.json', 'OK');
		await form.getByText('Monte Carlo Tree Search').click();
		await form.getByLabel('Scorer').selectOption({ label: 'accuracy' });
		await form.getByLabel('Budget', { exact: true }).selectOption({ label: '100 simulations' });
		await form.getByRole('button', { name: 'Start' }).click();
		tree = new TreePage(await workbench.app('tree'));
	});

	await step('the growing tree is shown', async () => {
		await waitUntil(async () => (await tree.nodes()) > 3, 'the tree has nodes');
		const early = await tree.nodes();
		await workbench.screenshot('search-growing');
		await waitUntil(async () => (await tree.nodes()) > early, 'the tree has more nodes');
		await tree.button('Stop').click();
		await tree.facts().filter({ hasText: 'stopped' }).waitFor();
		await workbench.screenshot('search-ended');
	});

	await step('the slider replays earlier events and returns to the end', async () => {
		await tree.slider().focus();
		await tree.slider().press('Home');
		await tree.slider().press('PageUp');
		await workbench.screenshot('search-replay');
		const events = await tree.moment().innerText();
		assert.match(events, /\d/);
		await tree.slider().press('End');
	});

	await step('a node is inspected, and the search continues from that node only', async () => {
		await tree.tree().focus();
		await page.keyboard.press('Home');
		await page.keyboard.press('ArrowRight');
		await tree.chosen().waitFor();
		await workbench.screenshot('search-node');
		const before = await tree.nodes();
		await tree.button('Branch from Here').click();
		await workbench.pick('100 simulations');
		await waitUntil(async () => (await tree.nodes()) > before, 'the branch grows');
		await tree.button('Stop').click();
		await tree.state().filter({ hasText: 'completed' }).waitFor();
		await workbench.screenshot('search-branched');
		const logs = readdirSync(join(lab.workspace, 'searches')).filter((name) => name.endsWith('.jsonl'));
		assert.equal(logs.length, 1);
		const log = join(lab.workspace, 'searches', logs[0] as string);
		const kinds = readLines<{ t: string; action?: string }>(log);
		assert.deepEqual(
			kinds.filter(({ t }) => t === 'resume').map(({ action }) => action),
			['branch'],
		);
	});

	await step('two strategies are compared on the dataset, and a point opens its trees', async () => {
		await workbench.command('Compare Strategies');
		await workbench.pick('New comparison');
		await workbench.asked('Compare Strategies: policy');
		await workbench.pick('A script...');
		await workbench.fileDialog(quick, 'quick.json', 'OK');
		await workbench.asked('Compare Strategies: problems');
		await workbench.pick('problems.jsonl');
		await workbench.asked('number of problems');
		await workbench.type('2');
		await workbench.asked('4/5): strategies');
		await workbench.pick('Best of N');
		await workbench.pick('Beam Search');
		await workbench.screenshot('strategies-chosen');
		await page.locator('.quick-input-widget:visible').getByRole('button', { name: 'OK' }).click();
		await workbench.asked('scorer');
		await workbench.pick('Mean log-probability');
		const frame = await workbench.app('strategies');
		await frame.getByText('Done', { exact: true }).waitFor();
		await workbench.screenshot('strategies');
		const row = frame
			.getByRole('table')
			.getByRole('button', { name: /Monte Carlo|mcts/i })
			.first();
		await row.click();
		await workbench.screenshot('strategies-point');
	});
}

async function openTree(lab: Laboratory, workbench: WorkbenchPage): Promise<void> {
	const { file, title, facts } = tree;
	const before = readFileSync(join(lab.workspace, file));
	await workbench.command('Open Search Tree');
	await workbench.fileDialog(join(lab.workspace, file), file.split('/').at(-1) as string, 'Open Tree');
	await workbench.editorTab(title).waitFor();
	const page = new TreePage(await workbench.app('tree'));
	await page.facts().filter({ hasText: facts }).waitFor();
	await workbench.screenshot('tree-foreign');
	assert.deepEqual(readFileSync(join(lab.workspace, file)), before, 'the file is unchanged');
}
