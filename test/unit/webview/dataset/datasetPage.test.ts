import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { openTable } from '../../../../src/runs/dataset/openTable.ts';
import { readPassRates } from '../../../../src/runs/dataset/passRates.ts';
import { TaskTable } from '../../../../src/runs/dataset/taskTable.ts';
import { launchChromium, skip } from '../../../support/chromium.ts';
import { soon } from '../lateness.ts';
import { looksRight, looksRightNow } from '../webviewLooks.ts';
import { type DatasetView, openDataset } from './datasetHarness.ts';

const options = { timeout: 180_000, skip };

let browser: Browser;
let folder = '';
let full = '';
let rollouts = '';
const words = 'amber basil cedar delta ember fjord grove heron inlet jewel karst lemon'.split(' ');
const line = (value: unknown) => `${JSON.stringify(value)}\n`;
/** Builds a question of fourteen distinct words with a number. */
const question = (i: number) =>
	`A train ${words[i % 12]} leaves with ${i + 3} wagons and each wagon of ${words[(i * 7) % 12]} carries ${2 * i + 1} crates; how many?`;

before(async () => {
	folder = await mkdtemp(join(tmpdir(), 'dataset-page-'));
	full = join(folder, 'train.jsonl');
	const rows = Array.from({ length: 600 }, (_, i) => ({
		id: i,
		question: question(i === 40 ? 12 : i),
		answer: `Each has ${2 * i + 1}, so ${i + 3} * ${2 * i + 1} in all.\n#### ${(i + 3) * (2 * i + 1)}`,
		level: ['easy', 'medium', 'hard'][i % 3],
		tags: i % 2 ? ['even'] : null,
	}));
	await writeFile(full, `${rows.map(line).join('')}{"broken": \n`);
	await writeFile(
		join(folder, 'test.jsonl'),
		[5, 77].map((i) => line({ question: question(i), answer: '1' })).join(''),
	);
	rollouts = join(folder, 'step_000001.jsonl');
	const rollout = (i: number) => ({
		step: 1,
		stage: 'grpo',
		group: Math.floor(i / 4),
		index: i % 4,
		prompt: `${i}+1=`,
		completion: `<think>one more than ${i} is ${i + 1}</think><answer>${i + 1}</answer>`,
		answer: String(i + 1),
		rewards: { accuracy: i % 2 },
		reward: i % 2,
		advantage: 0.5,
		truncated: false,
	});
	await writeFile(rollouts, Array.from({ length: 16 }, (_, i) => line(rollout(i))).join(''));
	const evaluation = join(folder, 'evaluation');
	await mkdir(evaluation);
	const sample = (correct: boolean) => ({ completion: '', answer: '', correct, tokens: 1, truncated: false });
	const evaluated = (i: number) => ({
		problem: i,
		key: String(i),
		prompt: question(i),
		answer: '1',
		category: null,
		samples: Array.from({ length: 4 }, (_, k) => sample(k < i % 5)),
	});
	await writeFile(join(evaluation, 'samples.jsonl'), Array.from({ length: 10 }, (_, i) => line(evaluated(i))).join(''));
	if (!skip) browser = await launchChromium();
});
after(async () => {
	await browser?.close();
	await rm(folder, { recursive: true, force: true });
});

/** Opens the editor on a file and closes it after the test, which fails if the page had an error. */
async function open(t: TestContext, file: string, more: Parameters<typeof openDataset>[3] = {}): Promise<DatasetView> {
	const view = await openDataset(browser, file.slice(folder.length + 1), () => openTable(file), more);
	t.after(async () => {
		const { errors, faults } = view;
		await view.close();
		assert.deepEqual([errors, faults], [[], []], 'page errors');
	});
	return view;
}

async function written(name: string, text: string | Uint8Array): Promise<string> {
	const file = join(folder, name);
	await writeFile(file, text);
	return file;
}

const count = (page: Page, pattern: RegExp) => page.locator('.shown-count').filter({ hasText: pattern }).waitFor();
const cells = (page: Page, index: number) =>
	page.locator(`.data-rows [data-index="${index}"] > *`).evaluateAll((nodes) => nodes.map((node) => node.textContent));
const filled = (page: Page, index = 0) =>
	page.locator(`.data-rows [data-index="${index}"] .row-number:not(:empty)`).waitFor();
const focused = (page: Page) =>
	page.evaluate(() => {
		const at = document.activeElement as HTMLElement | null;
		return [at?.parentElement?.dataset.index ?? null, at?.dataset.column ?? null];
	});

const widths = [320, 700, 1900];

test('the editor is accessible in every theme and width', options, async (t) => {
	const view = await open(t, full, { width: 1280, height: 800 });
	const { page } = view;
	await count(page, /^601 rows$/);
	await page.locator('.facts dd').first().waitFor();
	await filled(page);
	await looksRight(view, 'dataset', widths);
	await view.session.addTests([join(folder, 'test.jsonl')]);
	await page.getByRole('tab', { name: 'Test Sets' }).click();
	await page.locator('.finding').first().waitFor();
	await looksRight(view, 'dataset-tests', widths);
	await page.getByRole('tab', { name: 'Columns' }).click();
	await page.locator('vscode-button[aria-label="Add Condition"]').click();
	await looksRight(view, 'dataset-columns', widths);
	await page.locator('.data-rows [data-index="5"] .cell').first().click();
	await page.locator('.part-answer').waitFor();
	await looksRight(view, 'dataset-row', widths);
});

test('a file is explored in one page', options, async (t) => {
	const view = await open(t, full);
	const { page } = view;

	await t.test('rows are loaded as they scroll into view, and arrow keys move between cells', async () => {
		await count(page, /^601 rows$/);
		await filled(page);
		assert.deepEqual((await cells(page, 0)).slice(1, 3), [question(0), 'Each has 1, so 3 * 1 in all. #### 3']);
		assert.ok((await page.locator('.data-rows .data-row').count()) < 60);
		await page.locator('.data-rows').focus();
		await page.keyboard.press('ArrowDown');
		assert.deepEqual(await focused(page), ['0', '0']);
		await page.keyboard.press('ArrowDown');
		await page.keyboard.press('ArrowRight');
		assert.deepEqual(await focused(page), ['1', '1']);
		const release = view.holdRows();
		await page.keyboard.press('End');
		assert.deepEqual(await focused(page), ['600', '1']);
		// A row opened before it is loaded expands once it is.
		await page.keyboard.press('ArrowUp');
		await page.keyboard.press('Enter');
		assert.deepEqual(await focused(page), ['599', '1']);
		release();
		await filled(page, 600);
		assert.match((await cells(page, 600))[1] ?? '', /not JSON/);
		await page.locator('.detail-head').filter({ hasText: 'Row 600' }).waitFor();
		await page
			.locator('.part-answer')
			.filter({ hasText: String(602 * 1199) })
			.waitFor();
		await page.keyboard.press('Escape');
		assert.deepEqual(await focused(page), ['599', '1']);
		await page.keyboard.press('Home');
		assert.deepEqual(await focused(page), ['0', '1']);
		const head = page.locator('.head-button').filter({ hasText: 'id' });
		await head.click();
		await page.locator('.data-rows [data-index="0"] .row-number', { hasText: '600' }).waitFor();
		assert.equal(await page.locator('[role="columnheader"][aria-sort="descending"]').count(), 1);
		await head.click();
		await head.click();
		await page.waitForFunction(() => document.querySelector('[aria-sort]') === null);
	});

	await t.test('columns are detected, and a different choice updates the statistics', async () => {
		await page.locator('.facts dd').first().waitFor({ state: 'attached' });
		await page.getByRole('tab', { name: 'Columns' }).click();
		assert.equal(await page.getByLabel('Prompt', { exact: true }).inputValue(), 'question');
		assert.equal(await page.getByLabel('Read as').inputValue(), 'gsm8k');
		assert.match(await page.locator('.because').innerText(), /follows "####"/);
		await page.getByLabel('Prompt', { exact: true }).selectOption('level');
		await page.getByRole('tab', { name: 'Statistics' }).click();
		await page
			.locator('.facts')
			.filter({ hasText: /597 duplicates of earlier rows \(3 groups\)/ })
			.waitFor();
		await page.getByRole('tab', { name: 'Columns' }).click();
		await page.locator('vscode-button[aria-label="Detect Again"]').click();
		await page.waitForFunction(() => document.querySelector('.because') !== null);
		await page.locator('.columns vscode-button[aria-label="Use in Recipe…"]').click();
		await page.locator('.columns vscode-button[aria-label="Copy Recipe Snippet"]').click();
		const isLast = () => view.commands.at(-1)?.type === 'copyRecipe';
		await soon(() => assert.ok(isLast()));
		assert.deepEqual(
			view.commands.slice(-2).map(({ type }) => type),
			['useInRecipe', 'copyRecipe'],
		);
	});

	await t.test('text, conditions, duplicates and overlaps filter the rows', async () => {
		await count(page, /^601 rows$/);
		await page.locator('vscode-text-field[aria-label="Search text"] input').fill('EMBER LEAVES');
		await count(page, /^49 of 601 rows$/);
		await page.locator('vscode-button[aria-label="Add Condition"]').click();
		await page.getByLabel('Condition 1: column').selectOption('level');
		await page.getByLabel('Condition 1: operator').selectOption('=');
		await page.getByLabel('Condition 1: value').fill('medium');
		await count(page, /^49 of 601 rows$/);
		await page.getByLabel('Condition 1: value').fill('hard');
		await count(page, /^0 of 601 rows$/);
		await page.locator('vscode-button[aria-label="Clear Filters"]').click();
		await count(page, /^601 rows$/);
		await page.getByLabel('Duplicates').selectOption('only');
		await count(page, /^1 of 601 rows$/);
		await filled(page);
		assert.match((await cells(page, 0))[0] ?? '', /Duplicate of an earlier row, (H.*)?41$/);
		await page.locator('.data-rows [data-index="0"] .cell').first().click();
		await page.locator('.remark').filter({ hasText: 'row 13' }).waitFor();
		await page.getByLabel('Duplicates').selectOption('all');
		await count(page, /^601 rows$/);
		await view.session.addTests([join(folder, 'test.jsonl')]);
		await page.getByRole('tab', { name: 'Test Sets' }).click();
		await page.locator('.tests h2').filter({ hasText: '2 rows overlap' }).waitFor();
		await page.getByRole('button', { name: 'Show in table' }).click();
		await count(page, /^2 of 601 rows$/);
		await page.locator('.finding').first().click();
		await page
			.locator('.remark.bad')
			.filter({ hasText: /test\.jsonl, row 1/ })
			.waitFor();
	});

	await t.test('pass rates become a column for sorting and filtering', async () => {
		await page.locator('vscode-button[aria-label="Clear Filters"]').click();
		await count(page, /^601 rows$/);
		await view.session.setPassRates(await readPassRates(join(folder, 'evaluation')));
		const head = page.locator('.head-button').filter({ hasText: 'pass rate' });
		await head.click();
		await page.locator('.data-rows [data-index="0"] .cell:nth-child(2)', { hasText: '1' }).waitFor();
		await page.locator('vscode-button[aria-label="Add Condition"]').click();
		await page.getByLabel('Condition 1: operator').selectOption('>=');
		await page.getByLabel('Condition 1: value').fill('0.1');
		await count(page, /^8 of 601 rows$/);
		await looksRightNow(view, 'dataset-difficulty');
	});
});

test('answer types are counted, even for a single row', options, async (t) => {
	const view = await open(t, await written('one.jsonl', line({ question: question(1), answer: '12' })));
	await count(view.page, /^1 row$/);
	await view.page.locator('.kinds').waitFor();
	assert.deepEqual(await view.page.locator('.kinds .kind-count').allInnerTexts(), ['1 (100.0%)']);
});

test('rollouts show the completion and its reward, with thinking and answer separated', options, async (t) => {
	const view = await open(t, rollouts, { width: 1280, height: 800 });
	const { page } = view;
	await filled(page);
	assert.deepEqual((await page.locator('.head-name').allInnerTexts()).slice(0, 4), [
		'prompt',
		'completion',
		'reward',
		'rewards',
	]);
	await page.locator('.data-rows [data-index="3"] .cell').first().click();
	await page.locator('.part-completion .region-think').filter({ hasText: 'one more than 3' }).waitFor();
	await page.locator('.part-completion .region-answer').filter({ hasText: '4' }).waitFor();
	await looksRightNow(view, 'dataset-rollouts');
});

test('a generated task is shown like a file', options, async (t) => {
	const view = await openDataset(browser, 'countdown', async () => new TaskTable({ task: 'countdown' }, 1000, 0), {
		theme: 'light',
	});
	t.after(() => view.close());
	const { page } = view;
	await count(page, /^1,000 rows$/);
	await page.locator('.facts dd').first().waitFor();
	await filled(page);
	await looksRightNow(view, 'dataset-task');
	assert.deepEqual([view.errors, view.faults], [[], []]);
});

test('hostile cells are shown as plain text', options, async (t) => {
	const evil = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\u202e\u0000';
	const rows = Array.from({ length: 5 }, (_, i) => ({
		prompt: `${evil} ${i}`,
		[evil]: evil,
		proto: { constructor: evil },
		answer: evil,
		solution: `<think>${evil}`.repeat(200),
	}));
	const file = await written(
		'hostile.jsonl',
		`${rows.map(line).join('')}{"__proto__": {"prompt": 1}}\n[1]\nnull\n"x"\n`,
	);
	const view = await open(t, file);
	const { page } = view;
	await count(page, /^9 rows$/);
	await filled(page);
	for (const index of [0, 5, 6, 8]) {
		await page.locator(`.data-rows [data-index="${index}"] .cell`).first().click();
		await page
			.locator('.detail-head')
			.filter({ hasText: `Row ${index + 1}` })
			.waitFor();
	}
	await page.locator('.data-rows [data-index="0"] .cell').first().click();
	await page.locator('.part-solution').waitFor();
	assert.equal(await page.evaluate(() => (window as unknown as { hacked?: number }).hacked), undefined);
	assert.equal(await page.locator('#app img, #app script').count(), 0);
	assert.deepEqual(await view.violations('names'), []);
});

test('a table that cannot be shown is reported, and can be reloaded', options, async (t) => {
	const empty = await open(t, await written('empty.jsonl', ''), { theme: 'light' });
	await empty.page.locator('.empty').filter({ hasText: 'No rows' }).waitFor();
	await looksRightNow(empty, 'dataset-empty');
	const file = await written('broken.parquet', 'no parquet');
	const broken = await open(t, file);
	await broken.page
		.locator('.empty')
		.filter({ hasText: /Cannot read .*broken\.parquet as Parquet: / })
		.waitFor();
	await looksRightNow(broken, 'dataset-broken');
	const grown = await open(t, await written('grown.jsonl', line({ prompt: 'a', answer: 'b' })));
	await count(grown.page, /^1 row$/);
	await written('grown.jsonl', line({ prompt: 'a', answer: 'b' }).repeat(3));
	grown.session.markStale();
	await grown.page.locator('.stale vscode-button').click();
	await count(grown.page, /^3 rows$/);
});

test('the view state is restored after a reload', options, async (t) => {
	const first = await open(t, full);
	await count(first.page, /^601 rows$/);
	await first.page.getByRole('tab', { name: 'Columns' }).click();
	const head = first.page.locator('.head-button').filter({ hasText: 'id' });
	await head.focus();
	await first.page.keyboard.press('Alt+ArrowRight');
	const text = 'vscode-text-field[aria-label="Search text"] input';
	await first.page.locator(text).fill('EMBER LEAVES');
	await count(first.page, /^49 of 601 rows$/);
	await head.click();
	await first.page.locator('[aria-sort="descending"]').waitFor();
	await first.page.locator('.data-rows [data-index="3"] .cell').first().click();
	const opened = await first.page.locator('.detail-head', { hasText: /Row \d/ }).innerText();
	const state = await first.state();
	const second = await open(t, full, { state });
	assert.equal(await second.page.locator('.detail-head', { hasText: /Row \d/ }).innerText(), opened);
	// A new window has neither the filter nor the order, so both are requested again.
	await count(second.page, /^49 of 601 rows$/);
	await second.page.locator('[aria-sort="descending"]').waitFor();
	// The field shows its value one frame after it is set.
	await soon(async () => assert.equal(await second.page.locator(text).inputValue(), 'EMBER LEAVES'));
	await soon(async () => assert.deepEqual(await second.state(), state));
});
