import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { rolloutPath } from '../../../../src/runs/runFiles.ts';
import { hiddenCharacters } from '../../../../webview/lib/trace/hiddenCharacters.ts';
import { launchChromium, skip } from '../../../support/chromium.ts';
import { fixtureFolder } from '../../runs/importers/foreignFixtures.ts';
import { looksRight, looksRightNow } from '../webviewLooks.ts';
import { complete, type WebviewOptions } from '../webviewPage.ts';
import { makeBatch, runRecord, writeMetrics, writeRecord, writeRollouts, writeRun } from './rolloutsFixture.ts';
import { openRollouts, type RolloutsView } from './rolloutsHarness.ts';

const options = { timeout: 120_000, skip };

let root = '';
let runs = 0;
let browser: Browser;
before(async () => {
	root = await mkdtemp(join(tmpdir(), 'rollouts-page-'));
	if (!skip) browser = await launchChromium();
});
after(async () => {
	await browser?.close();
	await rm(root, { recursive: true, force: true });
});

const newRun = () => join(root, `run-${++runs}`);

/** Opens the panel and closes it after the test, which fails if the page had an error. */
async function open(
	t: TestContext,
	run: string,
	more: Omit<WebviewOptions, 'app' | 'onMessage'> = {},
): Promise<RolloutsView> {
	const view = await openRollouts(browser, run, more);
	t.after(async () => {
		const { errors, faults } = view;
		await view.close();
		assert.deepEqual([errors, faults], [[], []], 'page errors');
	});
	return view;
}

/** Matches cards of the last requested step and group, excluding earlier ones. */
const cards = ['.block-text', '.token'].map((part) => `.group-view:not(.loading) .card ${part}`).join(', ');
const text = (view: RolloutsView, selector: string) =>
	view.page.locator(selector).evaluateAll((nodes) => nodes.map((node) => (node as HTMLElement).innerText));

test('everything is reachable by keyboard', options, async (t) => {
	const run = newRun();
	await writeRun(run, [1, 2, 3], { groups: 4, size: 4 });
	const view = await open(t, run);
	const { page } = view;
	const title = page.locator('.group-title');
	const shows = (words: string) =>
		page.waitForFunction((wanted) => document.querySelector('.group-title')?.textContent === wanted, words);
	await shows('Group 0 (1 of 4)');
	await page.keyboard.press('j');
	await shows('Group 1 (2 of 4)');
	await page.keyboard.press('G');
	await shows('Group 3 (4 of 4)');
	await page.keyboard.press('k');
	await shows('Group 2 (3 of 4)');
	await page.waitForSelector('.card.selected[data-index="0"]');
	await page.keyboard.press('ArrowRight');
	await page.waitForSelector('.card.selected[data-index="1"]');
	assert.equal(await page.evaluate(() => (document.activeElement as HTMLElement).dataset.index), '1');
	await page.keyboard.press('c');
	await page.waitForFunction(() =>
		document.querySelector('[role=status].visually-hidden')?.textContent?.includes('copied'),
	);
	assert.equal(view.written[0], await view.session.text({ split: 'train', step: 3, group: 2, index: 1 }, 'completion'));
	await page.locator('vscode-button[aria-label="Search on this problem"]').click();
	await until(() => view.searches.length === 1);
	assert.deepEqual(view.searches, [{ split: 'train', step: 3, group: 2, index: 1 }]);
	await page.locator('.card.selected').focus();
	await page.keyboard.press('[');
	await page.waitForFunction(() => document.querySelector('.slider-value')?.textContent === '2');
	await page.keyboard.press('?');
	assert.ok(await page.locator('dialog.help').isVisible());
	assert.deepEqual(await view.violations('names'), []);
	await page.keyboard.press('Escape');
	assert.ok(!(await page.locator('dialog.help').isVisible()));
	await page.keyboard.press('/');
	assert.equal(await page.getByRole('textbox', { name: 'Search the completions in this step' }).count(), 1);
	await page.keyboard.type('jk?');
	await page.waitForSelector('.empty');
	assert.match((await text(view, '.empty'))[0] ?? '', /No rollouts match the filters/);
	assert.deepEqual(await view.violations('names'), []);
	await page.keyboard.press('Escape');
	await page.keyboard.press('x');
	await title.waitFor();
	await page.focus('.group-list');
	await page.keyboard.press('End');
	await shows('Group 3 (4 of 4)');
	const active = await page.evaluate(() => {
		const id = document.activeElement?.getAttribute('aria-activedescendant') ?? '';
		return document.getElementById(id)?.getAttribute('aria-selected');
	});
	assert.equal(active, 'true');
});

test('the timeline of a rollout is drawn, and its activities are selected with the keyboard', options, async (t) => {
	const view = await open(t, fixtureFolder('inspect-tools'), { width: 700 });
	const { page } = view;
	await page.waitForSelector('.card-timeline');
	await page.getByText('What is 17 + 25?').first().click();
	await page.getByText('Timeline (5 activities)').first().click();
	await page.waitForSelector('.activity');
	assert.equal(await page.locator('.activity').count(), 5);
	assert.match(await page.locator('.activities').innerText(), /5 activities in .*generation .*tool 81 ms.*reward/s);
	const bars = page.getByRole('listbox', { name: 'Timeline of completion 0' });
	await bars.focus();
	await page.keyboard.press('ArrowRight');
	assert.match(await page.locator('.activity-words').innerText(), /^tool add at 658 ms: 81 ms$/);
	const option = bars.getByRole('option', { selected: true });
	assert.equal(await bars.getAttribute('aria-activedescendant'), await option.getAttribute('id'));
	await page.keyboard.press('End');
	assert.match((await option.getAttribute('aria-label')) ?? '', /^reward brevity/);
	// Keys do not move to another completion.
	assert.equal(await page.locator('.card.selected').getAttribute('data-index'), '0');
	await looksRightNow(view, 'rollouts-timeline');
});

test('identical completions share a card, which its button and the i key expand and fold', options, async (t) => {
	const run = newRun();
	const batch = makeBatch({ step: 1, groups: 1, size: 6, tokens: false });
	const [first, second] = batch as [(typeof batch)[0], (typeof batch)[0]];
	const lines = batch.map((_, i) => {
		const same = { ...(i % 3 === 0 ? second : first), index: i };
		return i % 3 === 2 ? { ...same, completion: `${first.completion} ` } : same;
	});
	await writeRecord(run, runRecord());
	await writeRollouts(run, 1, lines);
	await writeMetrics(run, [{ step: 1, lines }]);
	const view = await open(t, run, { width: 1280, height: 860 });
	const { page } = view;
	// A card is positioned before it is drawn.
	const shown = (...indices: number[]) =>
		page.waitForFunction(
			(wanted) =>
				[...document.querySelectorAll<HTMLElement>('.card')]
					.map((card) => card.querySelector('.card-title') && card.dataset.index)
					.join() === wanted,
			indices.join(),
		);
	const said = (words: string) =>
		page.waitForFunction(
			(wanted) => document.querySelector('[role=status].visually-hidden')?.textContent === wanted,
			words,
		);
	await shown(0, 1, 2);
	const fold = page.locator('.card[data-index="1"] .fold');
	assert.deepEqual(await text(view, '.fold'), ['×2 identical', '×2 identical', '×2 identical']);
	assert.equal(await fold.getAttribute('aria-expanded'), 'false');
	await looksRight(view, 'rollouts-folded', [400]);
	await fold.click();
	await shown(0, 1, 4, 2);
	assert.equal(await fold.getAttribute('aria-expanded'), 'true');
	assert.equal(
		await page.evaluate(() => document.activeElement?.classList.contains('fold')),
		true,
		'focus stays on the button',
	);
	assert.equal((await text(view, '.card[data-index="4"] .card-title .quiet'))[0], 'same as #1');
	await looksRight(view, 'rollouts-unfolded', [400]);
	await fold.click();
	await shown(0, 1, 2);
	await page.locator('.card[data-index="0"]').click();
	await page.waitForSelector('.card.selected[data-index="0"]');
	await page.keyboard.press('i');
	await shown(0, 3, 1, 2);
	await said('#3 shown');
	// Folding from another card selects the completion that represents all of them.
	await page.keyboard.press('ArrowRight');
	await page.waitForSelector('.card.selected[data-index="3"]');
	await page.keyboard.press('i');
	await shown(0, 1, 2);
	await said('#3 folded');
	await page.waitForSelector('.card.selected[data-index="0"]');
});

// `npm test` covers this in `hostilePages.test.ts`; this test runs only in `npm run acceptance -- pageLooks`.
if (complete)
	test('malicious text is shown as plain text: it creates no elements and runs no scripts', options, async (t) => {
		const run = newRun();
		const attacks = [
			'<img src=x onerror="window.attacked=1"><svg onload="window.attacked=2">',
			'</script><script>window.attacked=3</script><style>body{display:none}</style>',
			'</think></div></article><iframe srcdoc="<script>parent.attacked=4</script>"></iframe>',
			'<a href="javascript:attacked=5">x</a><think><form><button autofocus onfocus="attacked=6">',
			'abc\u202e\u2066\u200b\u0000\u001b[31m\u00ad\ufeffxyz',
			'{{constructor.constructor("attacked=7")()}}<think>`',
		];
		const evil = attacks.join(' ');
		await writeRecord(run, runRecord({ name: evil, stage: evil }));
		const batch = makeBatch({ step: 1, groups: 2, size: attacks.length });
		const lines = batch.map((line, i) => {
			const attack = attacks[i % attacks.length] as string;
			return {
				...line,
				stage: evil,
				prompt: evil,
				answer: evil,
				row: { [evil]: evil },
				completion: attack,
				rewards: { ...line.rewards, [evil]: 1 },
				extra: { [evil]: evil },
				tokens: { text: [attack, '<b>', evil], logprob: [-1, -2, null] },
			};
		});
		await writeRollouts(run, 1, lines);
		await writeMetrics(run, [{ step: 1, lines: lines as never }]);
		const view = await open(t, run);
		const { page } = view;
		const harmless = async () => {
			assert.equal(await page.evaluate(() => (window as { attacked?: number }).attacked), undefined);
			const bad =
				'img, iframe, form, a, object, embed, style, #app script, base, [onerror], [onload], [onfocus], [srcdoc]';
			assert.equal(await page.locator(bad).count(), 0);
			assert.equal(await page.locator('script').count(), 1);
		};
		await page.waitForSelector(cards);
		await harmless();
		const shown = (await text(view, '.card .block-text')).join('\n');
		assert.ok(shown.includes('onerror="window.attacked=1"'), shown.slice(0, 500));
		const raw = await page.locator('#app').evaluate((node) => node.textContent ?? '');
		assert.deepEqual(hiddenCharacters(raw), [], 'hidden characters are written out');
		assert.ok((await text(view, '.m-hidden')).includes('RLO'));
		await page.keyboard.press('/');
		await page.keyboard.type('<img');
		await page.waitForSelector('mark.m-found');
		await harmless();
		await page.keyboard.press('Escape');
		await page.keyboard.press('t');
		await page.waitForSelector('.token');
		await page.hover('.token');
		await harmless();
		assert.deepEqual(await view.violations('names'), []);
	});

test('a long completion is partially rendered, and all of it can be reached', options, async (t) => {
	const run = newRun();
	await writeRecord(run, runRecord());
	const long = `<think>${'one line without an end '.repeat(10_000)}needle</think><answer>${'y'.repeat(60_000)}</answer>`;
	const batch = makeBatch({ step: 1, groups: 1, size: 3 }).map((line) => ({ ...line, completion: long }));
	await writeRollouts(run, 1, batch);
	const view = await open(t, run);
	const { page } = view;
	await page.waitForSelector('.card .virtual-list .block-text');
	const drawn = () =>
		page
			.locator('.card')
			.first()
			.evaluate((card) => (card.textContent ?? '').length);
	assert.ok((await drawn()) < 60_000, `${await drawn()} characters are in the document`);
	const list = page.locator('.card .virtual-list').first();
	// Heights are estimates until rows are measured, so scroll repeatedly until the end is reached.
	await list.evaluate(async (node) => {
		for (let i = 0; i < 200; i++) {
			node.scrollTop = node.scrollHeight;
			await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
			if (node.scrollTop + node.clientHeight >= node.scrollHeight - 1) break;
		}
	});
	assert.match(await list.innerText(), /y<\/answer>$/);
	assert.ok((await drawn()) < 60_000);
	await page.keyboard.press('/');
	await page.keyboard.type('needle');
	await page.waitForFunction(() => {
		const mark = document.querySelector('.card mark.m-found');
		const list = mark?.closest('.virtual-list');
		if (!mark || !list) return false;
		const [a, b] = [mark.getBoundingClientRect(), list.getBoundingClientRect()];
		return a.top >= b.top && a.bottom <= b.bottom;
	});
});

test('a step of 300 groups and a group of 300 completions are partially rendered', options, async (t) => {
	const run = newRun();
	await writeRecord(run, runRecord());
	const many = makeBatch({ step: 1, groups: 300, size: 2, sentences: 1, tokens: false });
	// All completions must differ, or they would be folded.
	const wide = makeBatch({ step: 2, groups: 1, size: 300, sentences: 1, tokens: false }).map((line) => ({
		...line,
		completion: `${line.index} ${line.completion}`,
	}));
	await writeRollouts(run, 1, many);
	await writeRollouts(run, 2, wide);
	const view = await open(t, run);
	const { page } = view;
	await page.waitForSelector(cards);
	assert.equal(await page.locator('.card').count(), 300);
	assert.ok((await page.locator('.card-head').count()) < 60);
	await page.locator('.card').last().scrollIntoViewIfNeeded();
	await page.waitForFunction(() => document.querySelector('.card:last-of-type .card-head') !== null);
	await page.keyboard.press('[');
	await page.waitForFunction(() => document.querySelector('.group-title')?.textContent?.endsWith('of 300)'));
	await page.keyboard.press('g');
	await page.waitForFunction(() => document.querySelector('.group-title')?.textContent === 'Group 0 (1 of 300)');
	assert.ok((await page.locator('.group-list .selection-row').count()) < 60);
	await page.keyboard.press('G');
	await page.waitForFunction(() => document.querySelector('.group-title')?.textContent === 'Group 299 (300 of 300)');
	await page.waitForSelector('.group-list [aria-selected="true"][aria-posinset="300"]');
});

test('new steps do not change what the user is reading', options, async (t) => {
	const run = newRun();
	await writeRun(
		run,
		Array.from({ length: 60 }, (_, i) => i + 1),
		{ groups: 2, size: 2, tokens: false },
	);
	const { ownIdentity } = await import('../../../../src/processes/processIdentity.ts');
	await writeRecord(run, runRecord({ status: 'running', heartbeat: Date.now() / 1000, ...(await ownIdentity()) }));
	const view = await open(t, run);
	const { page } = view;
	await page.waitForSelector(cards);
	await page.keyboard.press('j');
	await page.waitForFunction(() => document.querySelector('.group-title')?.textContent === 'Group 1 (2 of 2)');
	await page.locator('.step-list').evaluate((list) => {
		list.scrollTop = 300;
	});
	await page.waitForFunction(() => document.querySelector('.step-list .selection-row') !== null);
	const atTop = () =>
		page.locator('.step-list').evaluate((list) => {
			const top = list.getBoundingClientRect().top;
			const row = [...list.querySelectorAll('.selection-row')].find(
				(one) => one.getBoundingClientRect().bottom > top + 1,
			);
			return row?.querySelector('.step-number')?.lastChild?.textContent;
		});
	await page.waitForTimeout(100);
	const before = await atTop();
	await writeRollouts(run, 61, makeBatch({ step: 61, groups: 2, size: 2 }));
	await writeRollouts(run, 62, makeBatch({ step: 62, groups: 2, size: 2 }));
	await page.waitForFunction(() => document.querySelector('.unseen')?.textContent?.includes('2 new steps'));
	assert.equal(await atTop(), before);
	assert.equal(await page.locator('.group-title').innerText(), 'Group 1 (2 of 2)');
	await page.waitForFunction(
		() => document.querySelector('[role=status].visually-hidden')?.textContent === '2 new steps',
	);
	assert.deepEqual(await view.violations('names'), []);
	await page.click('.unseen');
	await page.waitForFunction(() => document.querySelector('.slider-value')?.textContent === '62');
	// Steps that are followed are not announced as new, and nothing is announced if there are none.
	await writeRollouts(run, 63, makeBatch({ step: 63, groups: 2, size: 2 }));
	await page.waitForFunction(() => document.querySelector('.slider-value')?.textContent === '63');
	// The live region combines announcements within 400 ms.
	await page.waitForTimeout(500);
	const said = await page.locator('[role=status].visually-hidden').allTextContents();
	assert.ok(!said.includes('0 new steps'), said.join('; '));
});

test('if there is nothing to show, the panel explains why and what to do', options, async (t) => {
	const none = newRun();
	const { ownIdentity } = await import('../../../../src/processes/processIdentity.ts');
	const alive = { heartbeat: Date.now() / 1000, ...(await ownIdentity()) };
	await writeRecord(none, runRecord({ status: 'running', stage: 'sft', step: 7, ...alive }));
	const waiting = await open(t, none);
	await waiting.page.waitForSelector('.empty');
	assert.match((await text(waiting, '.empty'))[0] ?? '', /cold-start.*first GRPO step/s);
	assert.deepEqual(await waiting.violations('names'), []);
	await writeRollouts(none, 8, makeBatch({ step: 8 }));
	await waiting.page.waitForSelector(cards);

	const ended = newRun();
	await writeRecord(ended, runRecord({ stage: 'sft' }));
	const over = await open(t, ended);
	await over.page.waitForSelector('.empty');
	assert.match((await text(over, '.empty'))[0] ?? '', /has no rollouts/);

	const pruned = newRun();
	await writeRun(pruned, [1, 2], { groups: 2, size: 2 });
	const view = await open(t, pruned);
	await view.page.waitForSelector(cards);
	await rm(rolloutPath(pruned, 1));
	await view.page.keyboard.press('[');
	await view.page.waitForSelector('.empty');
	assert.match((await text(view, '.empty'))[0] ?? '', /rollouts for this step were deleted.*another step/s);
	assert.deepEqual(await view.violations('names'), []);
	await view.page.keyboard.press(']');
	await view.page.waitForSelector(cards);

	const broken = newRun();
	await writeRun(broken, [1], { groups: 1, size: 2 });
	await writeFile(rolloutPath(broken, 1), 'nothing\nof use\n');
	const unreadable = await open(t, broken);
	await unreadable.page.waitForSelector('.empty');
	assert.match((await text(unreadable, '.step-faults'))[0] ?? '', /2 unreadable lines/);
});

test('a reopened view shows the same location, and a link opens another one', options, async (t) => {
	const run = newRun();
	await writeRun(run, [1, 2, 3], { groups: 3, size: 3 });
	const first = await open(t, run);
	await first.page.waitForSelector(cards);
	await first.page.keyboard.press('[');
	await first.page.keyboard.press('[');
	await first.page.waitForFunction(() => document.querySelector('.slider-value')?.textContent === '1');
	await first.page.waitForSelector(cards);
	await first.page.keyboard.press('g');
	await first.page.waitForFunction(() => document.querySelector('.group-title')?.textContent?.startsWith('Group 0'));
	await first.page.keyboard.press('j');
	await first.page.waitForFunction(() => document.querySelector('.group-title')?.textContent?.startsWith('Group 1'));
	const state = await first.state();
	await first.close();
	assert.equal((state as { runFolder: string }).runFolder, run);
	const second = await open(t, run, { state });
	await second.page.waitForFunction(() => document.querySelector('.group-title')?.textContent?.startsWith('Group 1'));
	assert.equal(await second.page.locator('.slider-value').innerText(), '1');
	// A link opens another location and highlights the tokens that it refers to.
	second.session.show({ step: 2, group: 2, index: 1, tokens: [3, 5] });
	await second.page.waitForSelector('.card.selected .token.cited');
	const cited = await text(second, '.card .token.cited');
	const line = makeBatch({ step: 2, groups: 3, size: 3, skill: 0.25 + (0.6 * 2) / 3 }).find(
		({ group, index }) => group === 2 && index === 1,
	);
	assert.deepEqual(cited, line?.tokens?.text.slice(3, 6));
	assert.equal(await second.page.locator('.slider-value').innerText(), '2');
	const spoilt = await open(t, run, { state: { runFolder: 5, step: '<img>' } });
	await spoilt.page.waitForSelector(cards);
	assert.equal(await spoilt.page.locator('.slider-value').innerText(), '3');
});

async function until(holds: () => boolean): Promise<void> {
	for (const end = Date.now() + 30_000; !holds(); ) {
		if (Date.now() > end) throw new Error('Timed out after 30 seconds');
		await new Promise((resolve) => setTimeout(resolve, 10));
	}
}
