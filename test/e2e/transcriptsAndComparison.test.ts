// @reaches transcript comparison
import assert from 'node:assert/strict';
import { appendFileSync, copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { skip } from '../support/chromium.ts';
import { reflexionFile } from '../unit/core/transcript/reflexion.ts';
import { grpoRecipe, writeComparedRun } from '../unit/webview/comparisonFixture.ts';
import { overflow, violations } from './accessibility.ts';
import { inOrder, Laboratory } from './laboratory.ts';

test('a person inspects a transcript, and compares two runs', { skip }, async (t) => {
	const lab = await Laboratory.open(t, 'transcripts');
	const step = inOrder(t);
	copyFileSync(reflexionFile, join(lab.workspace, 'agent.txt'));
	const growing = join(lab.workspace, 'growing.jsonl');
	writeFileSync(growing, '{"role":"user","content":"One"}\n');
	const runs = join(lab.workspace, 'runs');
	await writeComparedRun(runs, { name: 'plain', level: 0.4, recipe: grpoRecipe() });
	await writeComparedRun(runs, { name: 'clipped', level: 0.9, recipe: grpoRecipe({ epsilon_high: 0.28 }) });
	const workbench = await lab.workbench();
	const { page } = workbench;
	const openFile = (name: string) => workbench.openFile(name);

	await step('the transcript of the active editor opens with its faults', async () => {
		await openFile('agent.txt');
		await workbench.command('Open Transcript');
		const frame = await workbench.app('transcript');
		await frame.locator('.finding').first().waitFor();
		assert.match(await frame.locator('.facts').innerText(), /8 messages · 4 calls · 18\s735 tokens/);
		await frame.getByRole('button', { name: /ReviseAnswer lacks reflection/ }).click();
		await frame.locator('.message.open .text-body').first().waitFor();
		assert.deepEqual(await violations(frame), []);
		assert.ok((await overflow(frame)) <= 0);
		await workbench.screenshot('transcript');
	});

	await step('a message leads to its place in the file', async () => {
		const frame = await workbench.app('transcript');
		await frame.getByRole('button', { name: 'Show message 8 in the file' }).click();
		await workbench.editorTab(/^agent\.txt/).waitFor();
		await page.getByText(/Ln 57, Col 4[67]\d{3}/).waitFor();
	});

	await step('a log that grows is followed', async () => {
		await openFile('growing.jsonl');
		await workbench.command('Open Transcript');
		const frame = await workbench.app('transcript');
		await frame.getByText('One', { exact: true }).first().waitFor();
		appendFileSync(growing, '{"role":"assistant","content":"Two, later"}\n');
		await frame.getByText('Two, later').first().waitFor({ timeout: 60_000 });
	});

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
		assert.deepEqual(await violations(frame), []);
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

	await step('panels come back with the window', async () => {
		await workbench.editorTab(/^Compare: /).click();
		await workbench.app('comparison');
		await workbench.reload();
		const frame = await workbench.app('comparison');
		await frame.getByRole('tab', { name: 'Recipes', selected: true }).waitFor();
		await frame.locator('.recipe-value').first().waitFor();
	});
});
