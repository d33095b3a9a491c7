import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { launchChromium, skip } from '../../../support/chromium.ts';
import { guessing } from '../../search/episodes/weakGuesser.ts';
import { soon } from '../lateness.ts';
import { looksRight, looksRightNow } from '../webviewLooks.ts';
import { makeComparison, openStrategies } from './strategiesHarness.ts';

const options = { timeout: 240_000, skip };

let browser: Browser;
let folder = '';
before(async () => {
	if (skip) return;
	[browser, folder] = await Promise.all([launchChromium(), makeComparison()]);
});
after(async () => {
	await browser?.close();
	if (folder !== '') await rm(dirname(folder), { recursive: true, force: true });
});

/** Opens the view and closes it after the test, which fails if the page had an error. */
async function open(t: TestContext, more: Parameters<typeof openStrategies>[2] = {}, of = folder) {
	const view = await openStrategies(browser, of, more);
	t.after(async () => {
		const { errors, faults } = view;
		await view.close();
		assert.deepEqual([errors, faults], [[], []], 'page errors');
	});
	return view;
}

test('the view is accessible in every theme and width', options, async (t) => {
	const view = await open(t, { width: 1280, height: 1000 });
	const { page } = view;
	await page.waitForSelector('.point');
	await page.locator('.point-name', { hasText: 'mcts' }).first().click();
	await page.waitForSelector('.searches tbody tr');
	await looksRight(view, 'strategies', [320, 760]);
});

test('the plot and the table show the comparison results, and points open their trees', options, async (t) => {
	const view = await open(t);
	const { page } = view;
	await page.waitForSelector('.point');
	assert.equal(await page.locator('.point').count(), 9);
	const { ticks, below, outside } = await page.locator('.interval-plot > svg').evaluate((plot) => {
		const frame = plot.getBoundingClientRect();
		const ticks = [...plot.querySelectorAll('path')].filter((path) => /v4$/.test(path.getAttribute('d') ?? ''));
		const axis = Math.max(...ticks.map((tick) => tick.getBoundingClientRect().top));
		const boxes = [...plot.querySelectorAll('text')].map((text) => text.getBoundingClientRect());
		return {
			ticks: ticks.length,
			below: boxes.filter(({ top }) => top > axis).length,
			outside: boxes.filter((box) => box.left < frame.left || box.right > frame.right || box.bottom > frame.bottom)
				.length,
		};
	});
	assert.ok(ticks > 1);
	assert.equal(below, ticks + 1, 'one label below each tick, plus the name of the axis');
	assert.equal(outside, 0);
	assert.equal(await page.locator('thead').first().locator('th').count(), 7);
	const names = () => page.locator('.body > .table-scroll .point-name > span:first-of-type').allInnerTexts();
	const accuracy = await page.getByRole('button', { name: 'Accuracy', exact: true }).getAttribute('title');
	const asGiven = await names();
	assert.equal(asGiven[0], 'single sample');
	await page.getByRole('button', { name: 'Accuracy', exact: true }).click();
	const sorted = await names();
	assert.match(sorted[0] ?? '', /best-of-n by accuracy \(gold\)/);
	assert.equal(await page.locator('th[aria-sort="descending"] button').getAttribute('title'), accuracy);
	await page.getByRole('button', { name: 'Accuracy', exact: true }).click();
	assert.notDeepEqual(await names(), sorted);
	await page.getByRole('button', { name: 'Accuracy', exact: true }).click();
	assert.deepEqual(await names(), asGiven, 'the third click restores the original order');

	// By keyboard: a point in the plot, the next one on its line, and its searches.
	const points = page.locator('.point');
	await points.first().focus();
	await page.keyboard.press('ArrowDown');
	await page.keyboard.press('End');
	const words = await page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? '');
	assert.match(words, /^self-consistency, n=8: /);
	await page.keyboard.press('Enter');
	await page.waitForSelector('.searches tbody tr');
	assert.equal(await page.locator('.searches tbody tr').count(), 30);
	assert.match(await page.locator('.searches h2').innerText(), /self-consistency, n=8/);
	await page.getByRole('button', { name: 'Open tree for problem 3', exact: true }).click();
	await soon(() => assert.ok(view.opened.length > 0));
	assert.deepEqual(view.opened, [join(folder, 'trees', 'samples', '2.jsonl')]);

	await page.getByRole('button', { name: 'mcts by mean-logprob simulations=4', exact: true }).click();
	await page.waitForFunction(() => /mcts/.test(document.querySelector('.searches h2')?.textContent ?? ''));
	const which = page.getByRole('combobox', { name: 'Filter searches' });
	await which.click();
	await page.getByRole('option', { name: 'Incorrect' }).click();
	await page.waitForFunction(() => {
		const badges = [...document.querySelectorAll('.searches tbody .badge')];
		return badges.length > 0 && badges.every((badge) => badge.classList.contains('wrong'));
	});
	// Incoming results do not affect the dropdown: it stays open and keeps focus.
	assert.equal(await which.evaluate((node) => document.activeElement === node), true);
	const height = () => page.evaluate(() => document.documentElement.scrollHeight);
	const before = await height();
	const letGo = view.hold();
	await page.getByRole('button', { name: 'mcts by mean-logprob simulations=12', exact: true }).click();
	await page.getByText('Loading searches…').waitFor();
	assert.equal(await height(), before, 'the page does not jump');
	await which.click();
	// The component updates the attribute in the next frame.
	const openChoice = page.locator('.searches vscode-dropdown[aria-expanded=true]');
	await openChoice.waitFor();
	letGo();
	await page.waitForFunction(() => document.querySelector('.searches tbody, .searches p.quiet:not([role])') !== null);
	await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
	await openChoice.waitFor();
	assert.match(await page.locator('.searches h2').innerText(), /simulations=12/);
});

test('bands and curves can be selected, and a reload keeps the selection', options, async (t) => {
	const view = await open(t);
	const { page } = view;
	await page.waitForSelector('.point');
	const all = await page.locator('.point').first().getAttribute('aria-label');
	await page.getByRole('combobox', { name: 'Problems' }).click();
	await page.getByRole('option', { name: /^Band 2/ }).click();
	await page.waitForFunction((before) => document.querySelector('.point')?.getAttribute('aria-label') !== before, all);
	await page.getByRole('combobox', { name: 'Plot' }).click();
	await page.getByRole('option', { name: 'pass@k and cons@k' }).click();
	await page.waitForSelector('.point[aria-label^="pass@8"]');
	await looksRightNow(view, 'strategies-curves');
	await page.locator('.point-name').nth(1).click();
	const searches = await page.locator('.searches h2').innerText();
	const state = await view.state();
	assert.deepEqual((state as { view: string; band: number }).band, 1);
	const again = await open(t, { state });
	await again.page.waitForSelector('.point[aria-label^="pass@8"]');
	assert.equal(await again.page.locator('.searches h2').innerText(), searches);
	assert.match((await again.page.locator('.interval-plot > svg').getAttribute('aria-label')) ?? '', /band 2$/);
});

test('a stopped comparison can be continued, and the view follows its progress', options, async (t) => {
	const other = await makeComparison({
		problems: { from: 'file', path: 'problems.jsonl', limit: 2 },
		strategies: [{ strategy: 'self-consistency', params: { n: 2 } }],
	});
	t.after(() => rm(dirname(other), { recursive: true, force: true }));
	const path = join(other, 'summary.json');
	const summary = JSON.parse(await readFile(path, 'utf8'));
	await writeFile(path, JSON.stringify({ ...summary, state: 'running', done: 1, points: [], curves: [], bands: [] }));
	const view = await open(t, {}, other);
	const { page } = view;
	await page.waitForSelector('.badge.state-stopped');
	assert.match(await page.locator('.legend').innerText(), /^No results yet\./);
	await looksRightNow(view, 'strategies-stopped');
	await page.getByRole('button', { name: 'Continue' }).click();
	await soon(() => assert.ok(view.commands.length > 0));
	assert.deepEqual(view.commands, [{ type: 'goOn' }]);
	await writeFile(path, JSON.stringify(summary));
	await page.waitForSelector('.badge.state-ended');
	await page.waitForSelector('.point');
	await writeFile(path, '{"broken"');
	await page.waitForSelector('[role=alert]');
	assert.equal((await page.locator('.point').count()) > 0, true, 'earlier results stay');
});

test(
	'failed searches do not count as success: the view shows how many failed, why, and what to do',
	options,
	async (t) => {
		const rules = [
			{ prompt: 'easy *', say: [{ text: '<think>right\n</think><answer>$1</answer>' }] },
			{
				prompt: 'hard *',
				fail: {
					reason: 'invalid',
					message: `The prompt has "\u202Eh", which is not in the vocabulary <b>${'x'.repeat(300)}`,
				},
			},
		];
		const other = await makeComparison(
			{ strategies: [{ strategy: 'self-consistency', params: { n: 2 } }], searches: 4 },
			rules,
		);
		t.after(() => rm(dirname(other), { recursive: true, force: true }));
		const view = await open(t, { width: 760 }, other);
		const { page } = view;
		await page.waitForSelector('.badge.state-incomplete');
		assert.equal(await page.locator('.badge.state-ended').count(), 0);
		assert.equal(await page.locator('.page-head .badge').innerText(), 'Incomplete');
		assert.equal(await page.locator('.failures .fault').innerText(), '30 of 60 searches failed and are excluded.');
		assert.match(await page.locator('.failures li').innerText(), /^30× .*not in the vocabulary/);
		await page.getByRole('button', { name: 'Retry Failed' }).waitFor();
		await looksRightNow(view, 'strategies-failures');

		const path = join(other, 'summary.json');
		const summary = JSON.parse(await readFile(path, 'utf8'));
		const points = summary.points.map((point: object) => ({ ...point, accuracy: null, problems: 0, failed: 30 }));
		const all = {
			...summary,
			state: 'failed',
			failed: 60,
			points,
			curves: [],
			bands: [],
			message: 'All 60 searches failed: why.',
		};
		await writeFile(path, JSON.stringify(all));
		await page.waitForSelector('.badge.state-failed');
		assert.equal(await page.locator('.legend').innerText(), 'No results: all searches failed.');
		// Summary from an older version, which says that it is done but not why.
		await writeFile(
			path,
			JSON.stringify({ ...all, state: 'ended', failed: undefined, failures: undefined, message: null }),
		);
		await page.waitForSelector('.badge.state-incomplete');
	},
);

test(
	'a comparison over episodes shows rewards, separate rows for the same prompt, and what its upper bounds are based on',
	options,
	async (t) => {
		const place = await mkdtemp(join(tmpdir(), 'episodes-'));
		const rows = [8, 12, 20, 30].map((number) => JSON.stringify({ prompt: 'Guess:', number }));
		await writeFile(join(place, 'rows.jsonl'), rows.join('\n'));
		await writeFile(join(place, 'guess.env.ts'), `// @dataset rows.jsonl\n${guessing}`);
		const turns = [
			{ after: '*</result>', say: [{ text: '<call>guess 12</call>' }, { text: 'I stop.', weight: 1 }] },
			{ say: '<call>guess 8</call>' },
		];
		const played = await makeComparison(
			{
				problems: { from: 'environment' },
				environment: { file: join(place, 'guess.env.ts'), maxTurns: 3 },
				strategies: [
					{ strategy: 'best-of-n', points: [2, 8].map((n) => ({ params: { n } })) },
					{
						strategy: 'mcts',
						params: { choose: 'value' },
						points: [8, 16].map((simulations) => ({ params: { simulations } })),
					},
				],
			},
			turns,
		);
		const view = await open(t, { width: 1000, height: 900 }, played);
		const { page } = view;
		await page.locator('.point').first().waitFor();
		await page.getByText('played in guess.env.ts').waitFor();
		await page.getByText('Oracle upper bounds use the environment’s reward.').waitFor();
		await page.locator('.point-name', { hasText: 'mcts' }).first().click();
		const searches = page.locator('.searches tbody tr');
		await searches.nth(3).waitFor();
		assert.deepEqual(await page.locator('.searches thead th').nth(1).innerText(), 'Reward');
		assert.match(await searches.nth(1).innerText(), /Guess: \{"number":12\}\s+1\s+correct/);
		assert.match(await searches.nth(3).innerText(), /Guess: \{"number":30\}\s+0\.\d+\s+incorrect/);
		await looksRightNow(view, 'strategies-episodes');
		assert.match(await view.session.treeOf('s1p0', 1), /1\.jsonl$/);
		for (const folder of [place, dirname(played)]) await rm(folder, { recursive: true, force: true });
	},
);

test('a folder without a comparison is reported with a suggested action', options, async (t) => {
	const view = await open(t, {}, join(folder, 'trees'));
	await view.page.waitForSelector('.empty');
	assert.match(await view.page.locator('.empty').innerText(), /contains no comparison results/);
	await looksRightNow(view, 'strategies-empty');
	await view.page.getByRole('button', { name: 'Compare Strategies...' }).click();
	await soon(() => assert.ok(view.commands.length > 0));
	assert.deepEqual(view.commands, [{ type: 'choose' }]);
});
