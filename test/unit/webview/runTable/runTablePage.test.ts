import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { launchChromium, skip } from '../../../support/chromium.ts';
import { eachOtherTheme, looksRight, looksRightNow } from '../webviewLooks.ts';
import { madeUpRows, openRunTable } from './runTableHarness.ts';

let browser: Browser;
before(async () => {
	if (!skip) browser = await launchChromium();
});
after(() => browser?.close());

const hostile = '<img src=x onerror=alert(1)>\u202e';

test('runs are filtered, sorted, grouped, selected, compared and opened', { skip, timeout: 180_000 }, async (t) => {
	const view = await openRunTable(browser, { width: 1000, height: 600 });
	t.after(() => view.close());
	const { page } = view;
	await page.getByText('Loading runs').waitFor();
	const rows = madeUpRows(200);
	const [first] = rows;
	assert.ok(first);
	await view.say({
		type: 'rows',
		rows: [...rows, { ...first, folder: '/x', name: hostile, tags: [hostile] }],
		pending: 3,
	});
	await page.getByText('181 runs, reading 3').waitFor();
	await view.say({ type: 'changes', rows: [], removed: ['/x'], pending: 0 });
	await page.getByText('180 runs', { exact: true }).waitFor();
	await looksRight(view, 'run-table', [320]);
	const names = () => page.locator('.data-rows .data-row .cell:nth-child(2)').allInnerTexts();
	const head = (label: string) => page.locator('.head-button', { hasText: label }).first();
	const column = async (index: number) =>
		page.locator(`.data-rows .data-row .cell:nth-child(${index})`).first().innerText();

	await head('Held-out accuracy').click();
	await page.locator('[aria-sort=descending]', { hasText: 'Held-out accuracy' }).waitFor();
	assert.equal(await column(6), '99.0%');
	await head('Held-out accuracy').click();
	await page.locator('[aria-sort=ascending]', { hasText: 'Held-out accuracy' }).waitFor();
	assert.equal(await column(6), '0.0%');

	const filter = page.getByRole('textbox', { name: 'Filter runs' });
	await filter.fill('learning_rate>0.0004 tags:good');
	await page.getByText(/^\d+ of 180 runs$/).waitFor();
	await filter.fill('nothing>1');
	await page.getByText('No column is named "nothing".').waitFor();
	await filter.fill('project0 run 1');
	await page.getByText(/of 180 runs/).waitFor();

	await filter.fill('');
	await page.getByLabel('Other folders').check();
	await page.getByText('200 runs', { exact: true }).waitFor();
	await page.getByLabel('Groups').selectOption('recipe');
	await page.locator('.data-row', { hasText: '▸ run' }).first().waitFor();
	assert.match(await column(6), /^\d+\.\d% ± \d+\.\d%$/);
	await eachOtherTheme(view, (theme) => looksRightNow(view, `run-table-groups-${theme}`), ['light', 'high-contrast']);
	await page.locator('.data-rows .data-row').first().click();
	await page.locator('.data-row', { hasText: '▾ run' }).waitFor();

	await page.locator('.data-rows .data-row .cell:nth-child(2)').nth(1).focus();
	await page.keyboard.press('Space');
	await page.keyboard.press('ArrowDown');
	await page.keyboard.press('Space');
	await page.getByRole('button', { name: 'Compare 2' }).click();
	await page.keyboard.press('Escape');
	await page.locator('.data-rows .data-row').nth(1).locator('.cell').nth(1).click();
	while (view.commands.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
	const [compare, open] = view.commands;
	assert.ok(compare?.type === 'compare' && open?.type === 'open');
	assert.equal(compare.folders.length, 2);
	assert.ok(compare.folders.includes(open.folder));

	await page.locator('.columns summary').click();
	await page.getByRole('textbox', { name: 'Search columns' }).fill('metric/7');
	await page.getByLabel('metric/7').check();
	await head('metric/7').waitFor();
	await looksRightNow(view, 'run-table-columns');
	await page.getByRole('button', { name: 'Reset' }).click();
	await page.keyboard.press('Escape');
	assert.ok((await names()).length > 0);
	assert.deepEqual(view.errors, []);
});
