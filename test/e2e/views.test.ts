// @reaches dashboard rollouts rolloutIndex query transcript comparison runTable report
import assert from 'node:assert/strict';
import { appendFileSync, copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeRolloutFolder } from '../bench/rolloutFolder.ts';
import { skip } from '../support/chromium.ts';
import { reflexionFile } from '../unit/core/transcript/reflexion.ts';
import { grpoRecipe, writeComparedRun } from '../unit/webview/comparison/comparisonFixture.ts';
import { overflow } from './accessibility.ts';
import { inOrder, Laboratory, readLines } from './laboratory.ts';
import { RolloutsPage } from './pages/rolloutsPage.ts';
import { openForeign, openHostile, openOwn, prepareRollouts } from './rolloutSteps.ts';

test('views of runs, and views that combine several files', { skip }, async (t) => {
	const lab = await Laboratory.open(t, 'views');
	const runs = join(lab.workspace, 'runs');
	await makeRolloutFolder(join(runs, 'sums'), { rollouts: 2000, perGroup: 4, groups: 5, bytes: 900 });
	await writeComparedRun(runs, { name: 'plain', level: 0.4, recipe: grpoRecipe() });
	await writeComparedRun(runs, { name: 'clipped', level: 0.9, recipe: grpoRecipe({ epsilon_high: 0.28 }) });
	const opened = await prepareRollouts(lab);
	copyFileSync(reflexionFile, join(lab.workspace, 'agent.txt'));
	const growing = join(lab.workspace, 'growing.jsonl');
	writeFileSync(growing, '{"role":"user","content":"One"}\n');
	const workbench = await lab.workbench();
	const { page } = workbench;

	await t.test("another trainer's rollouts: the widest group, two completions, labels, pairs", (t) =>
		openForeign(t, lab, workbench, opened.foreign),
	);
	await t.test('our own run’s rollouts: labels stored next to the run, and behaviors over training', (t) =>
		openOwn(t, workbench, opened.own),
	);
	await t.test('hostile rollouts are displayed without taking effect', (t) => openHostile(t, workbench));

	await t.test('queries rollouts with the form and with SQL, and opens one', async (t) => {
		const step = inOrder(t);
		await step('the view opens, and counts the runs once they are indexed', async () => {
			await workbench.command('View: Close All Editors');
			await workbench.openSideBar();
			for (const name of [/^trl-run/, /^bench/]) await workbench.run(name).waitFor();
			await workbench.command('Query Rollouts');
			await workbench.closeSideBar();
			const frame = await workbench.app('query');
			await frame
				.locator('.runs-summary')
				.filter({ hasText: `all runs (6), ${(3056 + opened.rollouts).toLocaleString('en')} rollouts` })
				.waitFor({ timeout: 60_000 });
			assert.ok((await overflow(frame)) <= 0);
			await workbench.screenshot('query-empty');
		});

		await step('the form filters rows and shows their histogram', async () => {
			const frame = await workbench.app('query');
			await frame.locator('vscode-button[aria-label="Add Condition"]').click();
			await frame.getByLabel('Condition 1: value').fill('0');
			await page.keyboard.press('Control+Enter');
			await frame.locator('.data-rows .opens').first().waitFor();
			await frame.getByLabel('Column for histogram').selectOption('reward');
			await frame.locator('.bars').waitFor();
			await workbench.screenshot('query-form');
		});

		await step('an error in a statement is marked', async () => {
			const frame = await workbench.app('query');
			await frame.getByRole('tab', { name: 'SQL' }).click();
			const editor = frame.getByLabel('SQL statement');
			await editor.fill('SELECT run, split, step, group_id, "index", rewrd\nFROM rollouts ORDER BY reward');
			await page.keyboard.press('Control+Enter');
			await frame.locator('.fault-line mark').filter({ hasText: 'rewrd' }).waitFor();
			await workbench.screenshot('query-fault');
			await page.keyboard.type('reward');
			await page.keyboard.press('Control+Enter');
			await frame.locator('.data-rows .opens').first().waitFor();
		});

		await step('a row opens its rollout', async () => {
			const frame = await workbench.app('query');
			await frame.locator('.data-rows').focus();
			await page.keyboard.press('ArrowDown');
			await page.keyboard.press('Enter');
			const rollouts = new RolloutsPage(await workbench.app('rollouts'));
			await rollouts.cards().first().waitFor();
			await workbench.screenshot('query-opened');
		});

		await step('texts are searched', async () => {
			await workbench.editorTab(/^Query Rollouts/).click();
			const frame = await workbench.app('query');
			await frame.getByRole('tab', { name: 'Form' }).click();
			await frame.getByLabel('Search text').fill('[0-9]');
			await frame.getByText('Regular expression').click();
			await page.keyboard.press('Control+Enter');
			await frame.locator('.cell mark').first().waitFor();
			await workbench.screenshot('query-hits');
		});
	});

	await t.test('inspects a transcript', async (t) => {
		const step = inOrder(t);
		await step('the active editor opens as a transcript with its errors', async () => {
			await workbench.openFile('agent.txt');
			await workbench.command('Open Transcript');
			const frame = await workbench.app('transcript');
			await frame.locator('.finding').first().waitFor();
			for (const fault of ['ReviseAnswer failed', 'The retry of ReviseAnswer changed nothing', /lacks reflection/]) {
				await frame.getByText(fault).first().waitFor({ state: 'attached' });
			}
			assert.match(await frame.locator('.facts').innerText(), /8 messages · 4 calls · 18,735 tokens/);
			await frame.getByRole('button', { name: /ReviseAnswer lacks reflection/ }).click();
			await frame.locator('.message.open .text-body').first().waitFor();
			assert.ok((await overflow(frame)) <= 0);
			await workbench.screenshot('transcript');
		});

		await step('a message leads to its place in the file', async () => {
			const frame = await workbench.app('transcript');
			await frame.getByRole('button', { name: 'Show message 8 in the file' }).click();
			await workbench.editorTab(/^agent\.txt/).waitFor();
			await page.getByText(/Ln 57, Col 4[67]\d{3}/).waitFor();
		});

		await step('a growing log is followed', async () => {
			await workbench.openFile('growing.jsonl');
			await workbench.command('Open Transcript');
			const frame = await workbench.app('transcript');
			await frame.getByText('One', { exact: true }).first().waitFor();
			appendFileSync(growing, '{"role":"assistant","content":"Two, later"}\n');
			await frame.getByText('Two, later').first().waitFor({ timeout: 60_000 });
		});
	});

	await t.test('compares two runs, and the window restores everything', async (t) => {
		const step = inOrder(t);
		await step('two runs are compared: curves, held-out answers, recipes', async () => {
			await workbench.openSideBar();
			await workbench.run(/^plain/).waitFor();
			await workbench.command('Compare Runs');
			await workbench.pick('plain');
			await workbench.pick('clipped');
			await page.keyboard.press('Enter');
			await workbench.closeSideBar();
			const frame = await workbench.app('comparison');
			await frame.locator('[data-metric="reward"] canvas').waitFor();
			assert.ok((await overflow(frame)) <= 0);
			await workbench.screenshot('comparison');
			await frame.getByRole('tab', { name: 'Held-out accuracy' }).click();
			await frame.locator('td .badge').first().waitFor();
			await workbench.screenshot('comparison-held-out');
			await frame.getByRole('tab', { name: 'Recipes' }).click();
			await frame.getByRole('button', { name: 'Open in Diff Editor' }).click();
			await page.locator('.monaco-diff-editor .view-line').filter({ hasText: 'epsilon_high' }).first().waitFor();
			await workbench.screenshot('comparison-recipes');
		});

		await step('the run table lists both', async () => {
			await workbench.command('Open Table of Runs');
			const frame = await workbench.app('runTable');
			for (const name of ['plain', 'clipped']) await frame.locator('.data-row').filter({ hasText: name }).waitFor();
		});

		await step("an agent's report opens with its chart and checked citations", async () => {
			const rows = readLines<{ step: number; reward: number }>(join(runs, 'plain', 'metrics.jsonl'));
			const { step, reward } = rows.at(-1) as { step: number; reward: number };
			const address = `rl://plain/metric/reward?step=${step}`;
			const text = `# Result\n\n[${reward.toFixed(4)}](${address}), not [7](${address}).\n\n![Reward](rl://plain/metric/reward)\n`;
			lab.write('runs/plain/annotations/reports/result.md', text);
			await workbench.command('Open Address');
			await workbench.type('rl://plain/file/annotations%2Freports%2Fresult.md');
			const frame = await workbench.app('report');
			await frame.getByText('3 citations, 1 with problems').waitFor();
			await frame.locator('.curve .line').waitFor();
			await workbench.screenshot('report');
			await frame.locator('.citation').first().click();
			await workbench.app('dashboard');
		});

		await step('panels are restored with the window', async () => {
			await workbench.editorTab(/^Compare: /).click();
			await workbench.app('comparison');
			await workbench.reload();
			const comparison = await workbench.app('comparison');
			await comparison.getByRole('tab', { name: 'Recipes', selected: true }).waitFor();
			await comparison.locator('.recipe-value').first().waitFor();
			await workbench.editorTab(/^Query Rollouts/).click();
			const query = await workbench.app('query');
			assert.equal(await query.getByLabel('Search text').inputValue(), '[0-9]');
		});
	});
});
