// @reaches lab query
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeRolloutFolder } from '../bench/rolloutFolder.ts';
import { root } from '../scripts/paths.ts';
import { skip } from '../support/chromium.ts';
import { overflow, violations } from './accessibility.ts';
import { inOrder, Laboratory } from './laboratory.ts';
import { RolloutsPage } from './pages/rolloutsPage.ts';

test('a person asks about rollouts, by the form and in SQL, and opens one', { skip }, async (t) => {
	const lab = await Laboratory.open(t, 'query');
	const step = inOrder(t);
	await makeRolloutFolder(join(lab.workspace, 'runs', 'sums'), {
		rollouts: 2000,
		perGroup: 4,
		groups: 5,
		bytes: 900,
	});
	const trl = join(lab.workspace, 'outputs', 'trl-run');
	cpSync(join(root, 'test/fixtures/trl-run'), trl, { recursive: true });
	const workbench = await lab.workbench();
	const { page } = workbench;

	await step('the view opens, and knows the runs when they are indexed', async () => {
		await workbench.openSideBar();
		await workbench.command('Open Run Folder');
		await workbench.fileDialog(`${trl}/`, 'completions', 'Open');
		await workbench.run(/^trl-run/).waitFor();
		// Its dashboard takes the focus when it is there.
		await (await workbench.app('dashboard')).locator('.run-name').waitFor();
		await workbench.run(/^bench/).waitFor();
		await workbench.command('Query Rollouts');
		await workbench.closeSideBar();
		const frame = await workbench.app('query');
		await frame
			.locator('.runs-summary')
			.filter({ hasText: /all runs \(2\), 2\s\d{3} rollouts/ })
			.waitFor({ timeout: 60_000 });
		assert.deepEqual(await violations(frame), []);
		assert.ok((await overflow(frame)) <= 0);
		await workbench.screenshot('query-empty');
	});

	await step('the form filters, and its rows have a histogram', async () => {
		const frame = await workbench.app('query');
		await frame.locator('vscode-button[aria-label="Add Condition"]').click();
		await frame.getByLabel('Condition 1: value').fill('0');
		await page.keyboard.press('Control+Enter');
		await frame.locator('.result-rows .row-open').first().waitFor();
		await frame.getByLabel('Histogram of a column').selectOption('reward');
		await frame.locator('.bars').waitFor();
		await workbench.screenshot('query-form');
	});

	await step('a statement that is wrong is marked', async () => {
		const frame = await workbench.app('query');
		await frame.getByRole('tab', { name: 'SQL' }).click();
		const editor = frame.getByLabel('SQL statement');
		await editor.fill('SELECT run, split, step, group_id, "index", rewrd\nFROM rollouts ORDER BY reward');
		await page.keyboard.press('Control+Enter');
		await frame.locator('.fault-line mark').filter({ hasText: 'rewrd' }).waitFor();
		await workbench.screenshot('query-fault');
		await page.keyboard.type('reward');
		await page.keyboard.press('Control+Enter');
		await frame.locator('.result-rows .row-open').first().waitFor();
	});

	await step('a row opens its rollout', async () => {
		const frame = await workbench.app('query');
		await frame.locator('.result-rows').focus();
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
		await frame.getByLabel('Text that completions must hold').fill('[0-9]');
		await frame.getByText('Regular expression').click();
		await page.keyboard.press('Control+Enter');
		await frame.locator('.cell mark').first().waitFor();
		await workbench.screenshot('query-hits');
	});

	await step('the view comes back with the window', async () => {
		await workbench.reload();
		const frame = await workbench.app('query');
		assert.equal(await frame.getByLabel('Text that completions must hold').inputValue(), '[0-9]');
	});
});
