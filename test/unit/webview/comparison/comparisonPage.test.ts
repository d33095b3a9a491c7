import assert from 'node:assert/strict';
import { appendFile, cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { runFiles } from '../../../../src/runs/runFiles.ts';
import { root } from '../../../scripts/paths.ts';
import { launchChromium, skip } from '../../../support/chromium.ts';
import { patience, soon } from '../lateness.ts';
import { looksRight, looksRightNow } from '../webviewLooks.ts';
import { complete } from '../webviewPage.ts';
import { grpoRecipe, metricLines, writeComparedRun } from './comparisonFixture.ts';
import { type ComparisonView, openComparison } from './comparisonHarness.ts';

const options = { timeout: patience(240_000), skip };

let browser: Browser;
let folder = '';
let runs: string[] = [];
let trl = '';
before(async () => {
	folder = await mkdtemp(join(tmpdir(), 'comparison-'));
	runs = [
		await writeComparedRun(folder, { name: 'baseline', level: 0.45, recipe: grpoRecipe() }),
		await writeComparedRun(folder, {
			name: 'higher clip',
			level: 0.9,
			recipe: grpoRecipe({ epsilon_high: 0.28, beta: 0.04 }),
		}),
	];
	trl = join(folder, 'trl');
	await cp(join(root, 'test/fixtures/trl-run'), trl, { recursive: true });
	if (!skip) browser = await launchChromium();
});
after(async () => {
	await browser?.close();
	await rm(folder, { recursive: true, force: true });
});

/** Opens the panel and closes it after the test, which fails if the page had an error. */
async function open(
	t: TestContext,
	folders: readonly string[],
	more: Parameters<typeof openComparison>[2] = {},
): Promise<ComparisonView> {
	const view = await openComparison(browser, folders, more);
	t.after(async () => {
		const { errors, faults } = view;
		await view.close();
		assert.deepEqual([errors, faults], [[], []], 'page errors');
	});
	return view;
}

const widths = [320, 760, 1900];

const tab = (view: ComparisonView, name: string) => view.page.getByRole('tab', { name }).click();

test('the comparison is accessible in every theme and width', options, async (t) => {
	const view = await open(t, [...runs, trl], { width: 1280, height: 900 });
	const { page } = view;
	await page.waitForSelector('[data-metric="reward"] canvas');
	await looksRight(view, 'runs-curves', widths);
	await tab(view, 'Held-out accuracy');
	await page.waitForSelector('td .badge');
	await looksRight(view, 'runs-heldOut', widths);
	await tab(view, 'Recipes');
	await page.waitForSelector('.recipe-value');
	await looksRight(view, 'runs-recipes', widths);
	await tab(view, 'Shared prompts');
	await page.waitForSelector('.side .text-body');
	await looksRight(view, 'runs-prompts', widths);
});

test('runs by different trainers are overlaid, and their own metric names are in the tooltip', options, async (t) => {
	const { page } = await open(t, [runs[0] as string, trl]);
	await page.waitForSelector('[data-metric="reward"] .curve-entry[data-run="1"]');
	const card = page.locator('[data-metric="reward"]');
	assert.equal(await card.locator('.curve-entry').count(), 2);
	await card.locator('.about').focus();
	await page.waitForSelector('.tooltip:popover-open');
	assert.match(await page.locator('.tooltip').innerText(), /TRL/);
	const samples = await page
		.locator('.runs .line-sample path')
		.evaluateAll((paths) => paths.map((path) => [path.getAttribute('stroke'), path.getAttribute('stroke-dasharray')]));
	assert.notEqual(samples[0]?.[0], samples[1]?.[0]);
	assert.notEqual(samples[0]?.[1], samples[1]?.[1], 'lines differ in more than color');
});

test('curves can be plotted over steps, tokens and time, smoothed, hidden and filtered', options, async (t) => {
	const view = await open(t, runs);
	const { page } = view;
	const plot = page.locator('[data-metric="reward"] .plot');
	await page.waitForSelector('[data-metric="reward"] canvas');
	const says = async () => {
		await plot.focus();
		await page.keyboard.press('End');
		return plot.getAttribute('aria-valuetext');
	};
	assert.match((await says()) ?? '', /^step 120: baseline 0\.\d+, higher clip 0\.\d+$/);
	const choose = async (name: string) => {
		await page.getByRole('combobox', { name: 'X axis' }).click();
		await page.getByRole('option', { name }).click();
	};
	await choose('Tokens');
	assert.match((await says()) ?? '', /^491520 tokens: /);
	await choose('Wall time');
	assert.match((await says()) ?? '', /\d+:\d\d.*: baseline/);
	await page.getByRole('button', { name: /solid line: baseline/ }).click();
	assert.doesNotMatch((await says()) ?? '', /baseline/);
	await page.getByRole('textbox', { name: 'Filter metrics' }).fill('entropy');
	await page.waitForFunction(() => document.querySelectorAll('.card').length === 1);
	await page.getByRole('textbox', { name: 'Filter metrics' }).fill('nothing at all');
	await page.waitForSelector('.empty');
	assert.match(await page.locator('.empty').innerText(), /No metrics match/);
	await page.getByRole('button', { name: 'Clear Filter' }).click();
	await page.waitForFunction(() => document.querySelectorAll('.card').length > 3);
	await page.locator('[data-metric="reward"]').getByRole('button', { name: 'Table: Reward' }).click();
	await page.waitForSelector('[data-metric="reward"] .chart-table');
	// A reload restores everything.
	const again = await open(t, runs, { state: await view.state() });
	await again.page.waitForSelector('.run.off');
	const axis = again.page.getByRole('combobox', { name: 'X axis' });
	assert.equal(await axis.evaluate((node) => (node as HTMLElement & { value: string }).value), 'time');
});

test('held-out accuracy is compared problem by problem', options, async (t) => {
	const several = await writeComparedRun(folder, { name: 'four samples', level: 0.5, samples: 4 });
	const other = await writeComparedRun(folder, { name: 'other problems', task: 'How much is' });
	const view = await open(t, [...runs, several, other, trl]);
	const { page } = view;
	await page.waitForSelector('.run');
	await tab(view, 'Held-out accuracy');
	await page.waitForSelector('td .badge');
	await page.waitForFunction(() => !document.querySelector('tbody')?.textContent?.includes('Pairing'));
	const rows = await page.locator('tbody tr').allInnerTexts();
	assert.match(rows[0] ?? '', /Baseline/);
	assert.match(
		rows[1] ?? '',
		/Better[\s\S]*points[\s\S]*p < 0\.001[\s\S]*exact McNemar: \d+ problems won, \d+ lost; 60 problems in both/,
	);
	assert.match(rows[2] ?? '', /sign-flip test: \d+ problems gained, \d+ lost; 60 problems in both/);
	assert.match(rows[3] ?? '', /Not paired: The runs were evaluated on different problems/);
	assert.match(rows[4] ?? '', /Not evaluated/);
	const baseline = page.getByRole('combobox', { name: 'Baseline', exact: true });
	const before = await baseline.elementHandle();
	await page.getByRole('button', { name: 'Refresh' }).click();
	await baseline.click();
	await page.getByRole('option', { name: 'higher clip' }).click();
	await page.waitForFunction(() => /Worse/.test(document.querySelector('tbody tr')?.textContent ?? ''));
	// Incoming results do not replace the controls, because that would close an open list.
	assert.ok(await before?.evaluate((node) => node.isConnected));
});

test('recipe differences are listed by key and open in the diff editor', options, async (t) => {
	const view = await open(t, runs);
	const { page } = view;
	await page.waitForSelector('.run');
	await tab(view, 'Recipes');
	await page.waitForSelector('.recipe-value');
	const rows = page.getByRole('grid', { name: 'Changed keys' }).locator('.data-rows .data-row');
	const texts = rows.evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));
	assert.deepEqual(await texts, [
		['stages[0].beta', '0', '0.04 (differs)'],
		['stages[0].epsilon_high', 'not set', '0.28 (differs)'],
	]);
	await page.getByRole('button', { name: 'Open in Diff Editor' }).click();
	await soon(() => assert.deepEqual(view.asked.at(-1), ['openRecipes', { first: 0, second: 1 }]));
	await page.getByRole('textbox', { name: 'Filter keys' }).fill('epsilon');
	await page.waitForFunction(() => document.querySelectorAll('.data-rows .data-row').length === 1);
	const lone = await open(t, [runs[0] as string, trl]);
	await lone.page.waitForSelector('.run');
	await tab(lone, 'Recipes');
	await lone.page.waitForSelector('.empty');
	assert.match(await lone.page.locator('.empty').innerText(), /has no recipe/);
});

test('completions for the same prompt are shown side by side at a selected step', options, async (t) => {
	const view = await open(t, runs);
	const { page } = view;
	await page.waitForSelector('.run');
	await tab(view, 'Shared prompts');
	await page.waitForSelector('.side .text-body');
	assert.equal(await page.locator('.side').count(), 2);
	assert.match(
		await page.getByRole('status').filter({ hasText: 'shared' }).innerText(),
		/1\d shared prompts \(baseline: 1\d, higher clip: 1\d\)/,
	);
	const text = await page.locator('.side').first().innerText();
	assert.match(text, /baseline[\s\S]*mean reward[\s\S]*Correct|Wrong/);
	await page.locator('.prompt-list').focus();
	await page.keyboard.press('ArrowDown');
	await page.waitForFunction(() => document.querySelectorAll('.prompt-list [aria-selected="true"]').length === 1);
	await page.locator('.side').first().getByRole('button', { name: 'Rollouts from baseline' }).click();
	await soon(() => assert.equal(view.asked.at(-1)?.[0], 'openRollouts'));
	const [, params] = view.asked.at(-1) ?? [];
	const { run, split } = params as { run: number; split: string };
	assert.deepEqual([run, split], [0, 'train']);
});

test('live runs are followed, and an unreadable one is reported', options, async (t) => {
	const live = await writeComparedRun(folder, { name: 'live', steps: 20, level: 0.7 });
	const gone = join(folder, 'gone');
	const view = await open(t, [runs[0] as string, live, gone]);
	const { page, session } = view;
	await page.waitForSelector('[data-metric="reward"] .curve-entry[data-run="1"]');
	await page.waitForSelector('.run-fault');
	await looksRightNow(view, 'runs-fault');
	await appendFile(
		join(live, runFiles.metrics),
		metricLines(21, 30, 0.7, () => 0),
	);
	await session.refresh();
	await page.waitForFunction(() => document.querySelector('.run[data-run="1"]')?.textContent?.includes('step 30'));
	await writeFile(
		join(live, runFiles.metrics),
		metricLines(1, 5, 0.7, () => 0),
	);
	await session.refresh();
	await page.waitForFunction(() => document.querySelector('.run[data-run="1"]')?.textContent?.includes('step 5'));
	await page.getByRole('button', { name: 'Select Runs' }).first().click();
	await soon(() => assert.deepEqual(view.commands, [{ type: 'choose' }]));
});

// `npm test` covers this in `hostilePages.test.ts`; this test runs only in `npm run acceptance -- pageLooks`.
if (complete)
	test('external names and text are shown as plain text', options, async (t) => {
		const evil = await writeComparedRun(folder, {
			name: 'evil',
			record: { name: '<img src=x onerror="document.title=1">\u202e\u001b[31m' },
			recipe: { stages: [{ '<script>alert(1)</script>': '<b>\u202e' }] },
		});
		const view = await open(t, [runs[0] as string, evil]);
		const { page } = view;
		await page.waitForSelector('.run');
		for (const name of ['Held-out accuracy', 'Recipes', 'Shared prompts', 'Curves']) {
			await tab(view, name);
			await page.waitForTimeout(150);
			assert.equal(await page.locator('script:not([nonce]), img, a[href]').count(), 0);
		}
	});

test(
	'runs that differ only in their seed are drawn as one line with a band, and can be drawn individually',
	options,
	async (t) => {
		const seeds = await Promise.all(
			[1, 2, 3].map((seed) =>
				writeComparedRun(folder, { name: `seed ${seed}`, level: 0.6, recipe: { ...grpoRecipe({ beta: 0.1 }), seed } }),
			),
		);
		const view = await open(t, [...seeds, runs[1] as string], { width: 1280, height: 900 });
		const { page } = view;
		const card = page.locator('[data-metric="reward"]');
		await card.locator('.curve-run', { hasText: 'seed 1, mean of 3 seeds' }).waitFor();
		// The metrics of each run arrive separately.
		await soon(async () => assert.equal(await card.locator('.curve-entry').count(), 2));
		assert.match(await card.locator('.curve-entry .value').first().innerText(), /^0\.\d+ ±0\.\d+$/);
		assert.match(await page.locator('.curve-notes').innerText(), /their mean ±1 SD/);
		const strokes = await page
			.locator('.runs .line-sample path')
			.evaluateAll((paths) => paths.map((path) => path.getAttribute('stroke')));
		assert.equal(new Set(strokes.slice(0, 3)).size, 1);
		assert.notEqual(strokes[3], strokes[0]);
		await looksRight(view, 'runs-seeds', widths);
		// A hidden run does not count.
		await page.getByRole('button', { name: /line: seed 2/ }).click();
		await card.locator('.curve-run', { hasText: 'seed 1, mean of 2 seeds' }).waitFor();
		await page.getByRole('checkbox', { name: 'Mean over seeds' }).click();
		await page.waitForFunction(() => document.querySelectorAll('[data-metric="reward"] .curve-entry').length === 4);
		assert.doesNotMatch(await card.innerText(), /mean of/);
	},
);

test('charts of any two metrics are pinned for the workspace', options, async (t) => {
	const view = await open(t, runs, { width: 1280, height: 900 });
	const { page, commands } = view;
	await page.waitForSelector('[data-metric="reward"] canvas');
	await page
		.locator('[data-metric="entropy"]')
		.getByRole('button', { name: /^Pin: / })
		.click();
	await page.locator('.group', { hasText: 'Pinned charts' }).locator('[data-metric="entropy"]').waitFor();
	await page.getByRole('button', { name: 'New Chart' }).click();
	await page.getByLabel('New chart: y axis').selectOption('reward');
	await page.getByLabel('New chart: x axis').selectOption('entropy');
	await page.getByRole('button', { name: 'Pin Chart' }).click();
	const pair = page.locator('[data-pair="entropy|reward"] svg').last();
	await page.locator('[data-pair] svg[role="img"][aria-label^="Scatter plot"]').waitFor();
	assert.match((await pair.getAttribute('aria-label')) ?? '', /^Scatter plot of Reward by .*: 240 points in 2 series$/);
	await looksRight(view, 'runs-pinned', widths);
	const charts = [
		{ x: null, y: 'entropy' },
		{ x: 'entropy', y: 'reward' },
	];
	const pins = charts.map((chart) => ({ type: 'pin', chart, pinned: true }));
	await soon(() => assert.deepEqual(commands, pins));
	// Another panel in the workspace has unpinned one, and pinned a metric that these runs do not have.
	const event = { type: 'pinned', charts: [charts[1], { x: null, y: 'unknown' }] };
	await view.post({ kind: 'event', event });
	const pinned = page.locator('.group', { hasText: 'Pinned charts' });
	await pinned.locator('[data-metric="entropy"]').waitFor({ state: 'detached' });
	assert.equal(await pinned.locator('.card[data-pair]').count(), 1);
	await page.locator('[data-metric="entropy"]').waitFor();
	await page.getByRole('button', { name: /^Unpin: / }).click();
	await page.waitForFunction(() => !document.body.innerText.includes('Pinned charts'));
	await soon(() => assert.deepEqual(commands.at(-1), { type: 'pin', chart: charts[1], pinned: false }));
});
