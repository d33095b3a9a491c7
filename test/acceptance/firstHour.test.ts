/**
 * A new user's first hour, using mouse and keyboard in the installed extension: from an empty folder to a run with the
 * user's own reward, in at most 12 clicks and 10 minutes. A run of another project is registered on the machine and
 * must not be shown. Set TEST_PICTURES to keep a screenshot of each step.
 */
// @reaches cli engine
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import type { Locator } from 'playwright-core';
import { inOrder, Laboratory, readLines, waitUntil } from '../e2e/laboratory.ts';
import { DashboardPage } from '../e2e/pages/dashboardPage.ts';
import { smallRecipe } from '../e2e/smallRecipe.ts';
import { makePackage } from '../scripts/package.ts';
import { cache } from '../scripts/paths.ts';
import { skip } from '../support/chromium.ts';

const [mostClicks, mostMinutes] = [12, 10];
const vsix = join(cache, 'acceptance.vsix');

before(async () => {
	await makePackage(`${process.platform}-${process.arch}`, vsix);
});

test('a new user gets from an empty folder to a run with a custom reward', { skip }, async (t) => {
	const lab = await Laboratory.open(t, 'first-hour', { vsix, testDriver: false });
	const elsewhere = mkdtempSync(join(tmpdir(), 'elsewhere-'));
	t.after(() => rmSync(elsewhere, { recursive: true, force: true }));
	const recipe = join(elsewhere, 'stranger.recipe.json');
	writeFileSync(recipe, JSON.stringify({ ...smallRecipe(3), name: 'stranger' }));
	assert.equal((await lab.cli('run', recipe)).code, 0);

	const step = inOrder(t);
	const workbench = await lab.workbench({ installed: true });
	const { page } = workbench;
	const sideBar = page.locator('.sidebar');
	const started = Date.now();
	let [clicks, pictures] = [0, 0];
	const click = async (target: Locator) => {
		clicks++;
		await target.click();
	};
	const picture = (name: string) => workbench.screenshot(`first-hour-${String(++pictures).padStart(2, '0')}-${name}`);
	const settled = () => page.waitForTimeout(1500);
	const newProject = sideBar.locator('.monaco-button').filter({ hasText: 'New Project' });
	const notice = (text: string) => workbench.toasts().filter({ hasText: text });

	await step('an empty folder shows nothing from another project', async () => {
		await picture('window');
		await click(page.getByRole('tab', { name: /^Reasoning Lab/ }));
		await newProject.waitFor();
		await settled();
		await picture('side-bar');
		assert.doesNotMatch(await page.locator('.monaco-workbench').innerText(), /stranger/);
		assert.equal(await workbench.toasts().count(), 0);
		assert.deepEqual(
			readdirSync(lab.workspace).filter((name) => !name.startsWith('.')),
			[],
		);
	});

	await step('a project is created', async () => {
		await click(newProject);
		await workbench.asked('New project');
		await picture('templates');
		await click(workbench.quickItems().filter({ hasText: 'Your own problems' }));
		await workbench.editorTab(/starter\.recipe\.json/).waitFor();
		await settled();
		await picture('recipe');
	});

	await step('a reward is verified when it is changed and saved', async () => {
		const head = sideBar.locator('.pane-header').filter({ hasText: 'Rewards' });
		await head.hover();
		await click(head.getByRole('button', { name: 'New Reward' }));
		await workbench.asked('New reward');
		await picture('language');
		await page.keyboard.type('mine');
		await click(workbench.quickItems().filter({ hasText: 'mine.reward.ts' }));
		await workbench.editorTab(/mine\.reward\.ts/).waitFor();
		await page.locator('.codelens-decoration').filter({ hasText: 'Use in Run' }).waitFor();
		await settled();
		await picture('reward');
		await click(page.locator('.view-line').filter({ hasText: 'const short = 200;' }));
		await page.keyboard.press('End');
		for (let i = 0; i < 4; i++) await page.keyboard.press('Backspace');
		await page.keyboard.type('30;');
		await page.keyboard.press('Control+s');
		await sideBar.getByRole('treeitem', { name: /^mine, .*gold/ }).waitFor();
		await settled();
		await picture('verified');
		assert.match(readFileSync(join(lab.workspace, 'rewards/mine.reward.ts'), 'utf8'), /short = 30;/);
	});

	await step('a run that uses it starts', async () => {
		await click(page.locator('.codelens-decoration').getByText('Use in Run').first());
		await workbench.asked('Add mine to a recipe');
		await picture('weight');
		await page.keyboard.press('Enter');
		await notice('now uses mine').waitFor();
		await settled();
		await picture('used');
		await click(notice('now uses mine').getByRole('button', { name: 'Start Run' }));
		const dashboard = new DashboardPage(await workbench.app('dashboard'));
		await dashboard.status(/running/);
		await settled();
		await picture('started');
	});

	await step('its values appear in the run', async () => {
		const [run = ''] = lab.runs();
		const rows = () => readLines<Record<string, unknown>>(join(run, 'metrics.jsonl'));
		const scored = () => rows().some((row) => typeof row['rewards/mine/mean'] === 'number');
		await waitUntil(scored, 'the reward has scored a batch', mostMinutes * 60);
		const dashboard = new DashboardPage(await workbench.app('dashboard'));
		await dashboard.legend('Reward').filter({ hasText: /\d/ }).waitFor();
		await settled();
		await picture('scored');
	});

	const minutes = (Date.now() - started) / 60_000;
	console.error(`${clicks} clicks, ${minutes.toFixed(1)} minutes`);
	assert.ok(clicks <= mostClicks, `${clicks} clicks`);
	assert.ok(minutes <= mostMinutes, `${minutes} minutes`);
});
