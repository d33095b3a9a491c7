// @reaches rollouts
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { skip } from '../support/chromium.ts';
import { writeMicroscopeRun } from '../unit/webview/microscopeFixture.ts';
import { overflow, violations } from './accessibility.ts';
import { inOrder, Laboratory, waitUntil } from './laboratory.ts';
import { RolloutsPage } from './pages/rolloutsPage.ts';

/** Empty while the file is not there. */
function textOf(path: string): string {
	try {
		return readFileSync(path, 'utf8');
	} catch {
		return '';
	}
}

test('a person looks into rollouts: spread, two compared, steps labelled, pairs exported', { skip }, async (t) => {
	const lab = await Laboratory.open(t, 'microscope');
	const step = inOrder(t);
	const run = join(lab.workspace, 'runs', 'bakery');
	await writeMicroscopeRun(run, 6);
	const workbench = await lab.workbench();
	await workbench.openSideBar();
	await workbench.run(/^bakery/).waitFor();
	await workbench.command('Open Rollouts');
	const rollouts = new RolloutsPage(await workbench.app('rollouts'));
	const { frame } = rollouts;
	await rollouts.cards().first().waitFor();
	await workbench.closeSideBar();

	await step('the group with the widest spread is one key away', async () => {
		await rollouts.cards().first().click();
		await frame.page().keyboard.press('w');
		await frame.getByRole('heading', { name: /^Group \d+ \(1 of 3\)/ }).waitFor();
	});

	await step('two of its completions are compared, and in the editor’s own comparison', async () => {
		await frame.getByRole('tab', { name: 'Compare' }).click();
		await frame.locator('.sides .m-parting').nth(1).waitFor();
		assert.deepEqual(await violations(frame), []);
		assert.ok((await overflow(frame)) <= 0);
		await workbench.screenshot('microscope-compare');
		await frame.getByRole('button', { name: 'Compare in Diff Editor' }).click();
		await workbench.editorTab(/completion \d+ ↔ .*completion \d+/).waitFor();
		const diff = workbench.page.locator('.monaco-diff-editor').first();
		await diff.locator('.view-line', { hasText: 'think' }).first().waitFor();
		await workbench.screenshot('microscope-diff');
		await workbench.editorTab(/^Rollouts: bakery/).click();
	});

	await step('steps are labelled by keys and saved beside the run', async () => {
		const page = new RolloutsPage(await workbench.app('rollouts'));
		await page.frame.getByRole('tab', { name: 'Group' }).click();
		await page.cards().first().waitFor();
		await page.frame
			.getByRole('button', { name: /^Label the steps of completion/ })
			.first()
			.click();
		await page.frame.locator('.step-label').first().waitFor();
		await page.frame.locator('.step-labels').focus();
		await page.frame.page().keyboard.press('+');
		await page.frame.locator('.rated-1').waitFor();
		await page.frame.page().keyboard.press('-');
		await page.frame.locator('.rated--1').waitFor();
		const saved = () => {
			const text = textOf(join(run, 'annotations/labels.jsonl')).trim().split('\n').at(-1) || '{"steps":[]}';
			return (JSON.parse(text) as { steps: { rating: number | null }[] }).steps.slice(0, 2).map(({ rating }) => rating);
		};
		await waitUntil(() => JSON.stringify(saved()) === '[1,-1]', 'both labels are saved', 10);
		await workbench.screenshot('microscope-labels');
	});

	await step('behaviours are counted over training, and an example leads to its rollout', async () => {
		const { frame } = new RolloutsPage(await workbench.app('rollouts'));
		await frame.getByRole('tab', { name: 'Behaviours' }).click();
		await frame.getByText(/(Read|index:) 6 steps/).waitFor();
		await frame.locator('.example').first().waitFor();
		await workbench.screenshot('microscope-behaviours');
		await frame.locator('.example').first().click();
		await frame.locator('.card.selected').waitFor();
	});

	await step('what one looks at is exported as pairs', async () => {
		const rollouts = new RolloutsPage(await workbench.app('rollouts'));
		const { frame } = rollouts;
		await rollouts.steps().first().click();
		await frame.getByRole('heading', { name: /^Group 3 \(1 of 3\)/ }).waitFor();
		await frame.getByRole('button', { name: 'Export…' }).click();
		await workbench.pick('Preference pairs (DPO)');
		// What else can be chosen stays as it is.
		await workbench.quickItems().filter({ hasText: 'Only finished ones' }).waitFor();
		await workbench.quickInput().press('Enter');
		const target = join(lab.workspace, 'pairs.jsonl');
		await workbench.quickItems().filter({ hasText: 'Only finished ones' }).waitFor({ state: 'detached' });
		await workbench.fileDialog(target, /^runs/, /^(OK|Save)$/);
		await waitUntil(() => textOf(target) !== '', 'the file is written', 20);
		const pairs = textOf(target)
			.trim()
			.split('\n')
			.map((line) => JSON.parse(line) as { chosen: unknown; rejected: unknown });
		assert.ok(pairs.length >= 1 && pairs.every(({ chosen, rejected }) => chosen && rejected));
		await workbench.screenshot('microscope-exported');
	});
});
