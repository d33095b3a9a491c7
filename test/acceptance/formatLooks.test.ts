/**
 * `npm run acceptance -- formatLooks`: takes a screenshot of the rollouts in every fixture from another trainer, and in
 * small runs for the formats without a fixture: in the page, alternating between dark and light themes, with the
 * timeline expanded, and in the workbench. The screenshots are in test/artifacts/formatLooks, or in the folder
 * specified by TEST_PICTURES. `--only NAME` takes those of one format, `--only weights` those of tokens colored by the
 * age of the weights that generated them, `--only workbench` only those in the workbench, and `--only explorer` only the
 * list of runs in the Explorer.
 */
import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { openRun } from '../../src/runs/openRun.ts';
import { stepName } from '../../src/runs/runFiles.ts';
import { runsBelow } from '../../src/runs/runsBelow.ts';
import { makeRolloutFolder } from '../bench/rolloutFolder.ts';
import { overflow } from '../e2e/accessibility.ts';
import { HostDriver } from '../e2e/hostDriver.ts';
import { inOrder, Laboratory, waitUntil } from '../e2e/laboratory.ts';
import { RolloutsPage } from '../e2e/pages/rolloutsPage.ts';
import { artifacts, pictures } from '../scripts/paths.ts';
import { builtFormats } from '../support/builtFormats.ts';
import { launchChromium, skip } from '../support/chromium.ts';
import { rolloutLine } from '../unit/rolloutIndex/ownRun.ts';
import { fixtureFolder, fixtures } from '../unit/runs/importers/foreignFixtures.ts';
import { writeFiles } from '../unit/runs/importers/madeRun.ts';
import { openRollouts } from '../unit/webview/rollouts/rolloutsHarness.ts';

const folder = pictures ?? join(artifacts, 'formatLooks');
const only = process.env.CHECK_ONLY;

/** Run folders by name. The workbench opens copies, because their tab shows the name of the folder. */
const runs = new Map<string, string>(fixtures.map(({ name }) => [name, fixtureFolder(name)]));
const built = await mkdtemp(join(tmpdir(), 'formats-'));
after(() => rm(built, { recursive: true, force: true }));
for (const [name, files] of Object.entries(builtFormats)) {
	const path = join(built, name);
	await writeFiles(path, files);
	runs.set(`${name}, built`, path);
}

let browser: Browser;
before(async () => {
	await mkdir(folder, { recursive: true });
	if (!skip) browser = await launchChromium();
});
after(() => browser?.close());

const fileName = (name: string) => name.replaceAll(/\W+/g, '-');

for (const [i, [name, path]] of [...runs].entries()) {
	if (only !== undefined && name !== only) continue;
	test(name, { skip }, async (context) => {
		const run = await openRun(path);
		if ((await run.steps()).length === 0) {
			context.skip('no rollouts');
			return;
		}
		const theme = i % 2 === 0 ? 'dark' : 'light';
		const view = await openRollouts(browser, path, { theme, width: 1280, height: 860 });
		context.after(() => view.close());
		const { page } = view;
		await page.waitForSelector('.group-view:not(.loading) .card .card-head');
		await page.waitForSelector('.card .card-body > *');
		const timeline = page.locator('.card-timeline > summary').first();
		if ((await timeline.count()) > 0) {
			await timeline.click();
			await page.waitForSelector('.activity');
		}
		await page.screenshot({ path: join(folder, `${fileName(name)}-${theme}.png`) });
		assert.deepEqual([view.errors, view.faults], [[], []], 'errors of the page');
		assert.deepEqual(await view.violations('names'), []);
	});
}

/** Weight versions that generated the parts of each completion in the screenshot of token colors. */
const versions = [[12], [10, 11, 12], [4, 7, 9, 11], [3, 4, 5]];

for (const theme of ['dark', 'light'] as const) {
	if (only !== undefined && only !== 'weights') continue;
	test(`tokens colored by the age of their weights, ${theme}`, { skip }, async (context) => {
		const run = await mkdtemp(join(tmpdir(), 'weights-'));
		context.after(() => rm(run, { recursive: true, force: true }));
		await makeRolloutFolder(run, { rollouts: 1 });
		const lines = versions.map((ofTokens, index) => {
			const text = Array.from({ length: 40 }, (_, i) => `word${(i * (index + 3)) % 41} `);
			const version = text.map((_, i) => ofTokens[Math.floor((i * ofTokens.length) / text.length)] ?? null);
			// It is unknown which weights were trained on the last completion.
			const trained = index === 3 ? null : 12;
			const weights = { oldest: Math.min(...ofTokens), newest: Math.max(...ofTokens), trained };
			const tokens = { text, logprob: text.map(() => -0.1), version };
			return rolloutLine({ step: 1, group: 0, index, completion: text.join(''), tokens, extra: { weights } });
		});
		await writeFiles(run, { [`rollouts/${stepName(1)}.jsonl`]: lines });
		const view = await openRollouts(browser, run, { theme, width: 1280, height: 860 });
		context.after(() => view.close());
		const { page } = view;
		await page.waitForSelector('.group-view:not(.loading) .card .card-body > *');
		await page.locator('vscode-dropdown[aria-label="Tokens"]').evaluate((node: HTMLElement & { value: string }) => {
			node.value = 'weights';
			node.dispatchEvent(new Event('change'));
		});
		await page.waitForSelector('.card .level-6');
		await page.screenshot({ path: join(folder, `weights-${theme}.png`) });
		assert.deepEqual([view.errors, view.faults], [[], []], 'errors of the page');
		assert.deepEqual(await view.violations('names'), []);
	});
}

test('the Explorer lists the runs of every format in a new window, and each opens with a click', {
	skip: skip ?? !['workbench', 'explorer', undefined].includes(only),
	timeout: 600_000,
}, async (t) => {
	const lab = await Laboratory.open(t, 'found-runs');
	for (const [name, path] of runs) {
		const [format] = (await runsBelow(path, { depth: 0, chosen: false })).runs;
		// A folder of chats may be a dataset, so it is not listed.
		if (format !== undefined) await cp(path, join(lab.workspace, `${fileName(name)}-run`), { recursive: true });
	}
	const workbench = await lab.workbench();
	const { page } = workbench;
	const list = page.locator('.pane').filter({ hasText: 'Runs from Other Trainers' });
	await list.locator('.pane-header').click();
	// Makes room for all rows.
	await page.locator('.pane-header').first().click();
	await page.mouse.move(0, 0);
	await page.screenshot({ path: join(folder, 'workbench-explorer.png') });
	const names = (await readdir(lab.workspace, { withFileTypes: true }))
		.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
		.map((entry) => entry.name);
	assert.ok(names.length > 20, `${names}`);
	for (const name of names) {
		// The names consist of letters, digits, hyphens and dots.
		await list.getByRole('treeitem', { name: new RegExp(`^${name}, `) }).click();
		// Some runs have their own names.
		await workbench.editorTab(/./).waitFor();
		await workbench.command('View: Close All Editors');
		await waitUntil(async () => (await workbench.editorTab(/./).count()) === 0, 'the run is closed');
	}
});

test('rollouts of every format in the workbench', { skip, timeout: 1_800_000 }, async (t) => {
	const driver = new HostDriver();
	t.after(() => driver.dispose());
	const lab = await Laboratory.open(t, 'format-looks', { extensions: [driver.folder] });
	const workbench = await lab.workbench();
	await workbench.openSideBar();
	const step = inOrder(t);
	for (const [name, path] of runs) {
		if (only !== undefined && only !== 'workbench' && name !== only) continue;
		const run = await openRun(path);
		if ((await run.steps()).length === 0) continue;
		await step(name, async () => {
			const copy = join(lab.workspace, fileName(name));
			await cp(path, copy, { recursive: true });
			await driver.run(async (vscode, folder) => {
				await vscode.commands.executeCommand('workbench.action.closeAllEditors');
				await vscode.commands.executeCommand('reasoningLab.openRollouts', folder);
			}, copy);
			const rollouts = new RolloutsPage(await workbench.app('rollouts'));
			await rollouts.cards().first().waitFor();
			await rollouts.frame.locator('.card .card-body > *').first().waitFor();
			await workbench.page.screenshot({ path: join(folder, `workbench-${fileName(name)}.png`) });
			assert.ok((await overflow(rollouts.frame)) <= 0, 'the page is not wider than its panel');
		});
	}
});
