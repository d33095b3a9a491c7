import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { Browser, Page } from 'playwright-core';
import { Failure } from '../../../../src/base/failure.ts';
import { launchChromium, skip } from '../../../support/chromium.ts';
import { soon } from '../lateness.ts';
import { fitsWidth, looksRight, looksRightNow } from '../webviewLooks.ts';
import { openQuery, type QueryHarnessOptions, type QueryView } from './queryHarness.ts';
import { indexed } from './queryIndex.ts';
import { queryTables } from './queryTables.ts';

describe('the query view in a browser', { skip }, () => {
	let browser: Browser;
	let database: DuckDBConnection;
	const opened: QueryView[] = [];
	before(async () => {
		browser = await launchChromium();
		database = await queryTables();
	});
	afterEach(async () => {
		for (const view of opened.splice(0)) await view.close();
	});
	after(async () => {
		await browser?.close();
	});

	const open = async (options: QueryHarnessOptions = {}): Promise<QueryView> => {
		const view = await openQuery(browser, database, options);
		opened.push(view);
		await overview(view);
		return view;
	};
	/** Waits for the panel's first message; until then, nothing can be run. */
	const overview = ({ page }: QueryView) =>
		page.locator('.result .empty').filter({ hasNotText: 'Opening rollout index' }).waitFor();
	const clean = (view: QueryView) => {
		assert.deepEqual(view.errors, []);
		assert.deepEqual(view.faults, []);
	};
	/** Returns the button in the control, which is enabled one frame later than the control. */
	const button = (page: Page, label: string) => page.locator(`vscode-button[aria-label="${label}"] button`);
	const summary = (page: Page, words: RegExp) => page.locator('.result-summary').filter({ hasText: words }).waitFor();
	const toSql = async (page: Page, sql: string) => {
		await page.getByRole('tab', { name: 'SQL' }).click();
		await page.getByLabel('SQL statement').fill(sql);
		await page.keyboard.press('Control+Enter');
	};
	const cells = (page: Page, row: number) =>
		page.locator(`.data-rows [data-index="${row}"] [role="gridcell"]`).allInnerTexts();

	it('draws a result as a chart of the chosen columns', async () => {
		const view = await open({ width: 1100, height: 800 });
		const { page } = view;
		await toSql(
			page,
			'SELECT step, avg(reward) AS reward, count(*) AS n, run FROM rollouts GROUP BY step, run ORDER BY run, step',
		);
		await summary(page, /rows?, in/);
		await button(page, 'Chart').click();
		const chart = page.locator('.result-chart svg');
		await chart.waitFor();
		assert.match((await chart.getAttribute('aria-label')) ?? '', /^Line chart of reward by step: /);
		await page.getByLabel('Series', { exact: true }).selectOption('run');
		await page.waitForSelector('.data-legend li');
		await looksRight(view, 'query-chart', [320, 1100]);
		await page.getByLabel('Chart type').selectOption('bar');
		await page.getByLabel('Y axis', { exact: true }).selectOption('n');
		await page.waitForSelector('.result-chart rect');
		assert.match((await chart.getAttribute('aria-label')) ?? '', /^Bar chart of n by step: /);
		await page.getByLabel('Chart type').selectOption('scatter');
		await page.waitForSelector('.result-chart circle title', { state: 'attached' });
		await looksRightNow(view, 'query-chart-points');
		// Another result without these columns has no chart.
		await toSql(page, 'SELECT run FROM runs');
		await chart.waitFor({ state: 'detached' });
		clean(view);
	});

	it('has no accessibility violations in any theme', async () => {
		const view = await open({ width: 1100, height: 800 });
		const { page } = view;
		await looksRight(view, 'query');
		await button(page, 'Add Condition').click();
		await page.getByLabel('Condition 1: value').fill('x');
		await page.getByLabel('Group by', { exact: true }).selectOption('step');
		await page.locator('.as-sql summary').click();
		await page.locator('.runs-summary').click();
		await looksRight(view, 'query-form');
		await toSql(page, 'SELECT nothing FROM rollouts');
		await page.waitForSelector('.failure');
		await looksRight(view, 'query-failure');
		await toSql(page, 'FROM rollouts');
		await summary(page, /240/);
		await page.getByLabel('Column for histogram').selectOption('reward');
		await page.waitForSelector('.bars');
		await page.locator('.histogram details summary').click();
		await looksRight(view, 'query-rows');
		clean(view);
	});

	it('fits 320 pixels without horizontal scrolling', async () => {
		const view = await open({ width: 320, height: 700 });
		const { page } = view;
		await button(page, 'Add Condition').click();
		await page.getByLabel('Condition 1: operator').selectOption('between');
		await page.keyboard.press('Control+Enter');
		await summary(page, /rows/);
		await fitsWidth(view, 'form');
		await page.getByRole('tab', { name: 'SQL' }).click();
		await fitsWidth(view, 'SQL');
		await page.locator('.runs-summary').click();
		await looksRightNow(view, 'query-320');
		clean(view);
	});

	it('filters with the form, and opens a rollout by keyboard and by pointer', async () => {
		const view = await open();
		const { page } = view;
		await button(page, 'Add Condition').click();
		await page.getByLabel('Condition 1: column').selectOption('rewards.accuracy');
		await page.getByLabel('Condition 1: value').fill('1');
		await page.getByLabel('Sort by').selectOption('characters');
		await page.keyboard.press('Control+Enter');
		await summary(page, /^120 rows, in /);
		assert.deepEqual((await cells(page, 0)).slice(1, 6), ['train', '1', '0', '7', '0.7']);
		await page.locator('.data-rows').focus();
		await page.keyboard.press('ArrowDown');
		await page.keyboard.press('End');
		await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Open row 120');
		await page.keyboard.press('Enter');
		await page.keyboard.press('Home');
		await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Open row 1');
		await page.locator('.data-rows [data-index="2"]').dblclick();
		await soon(() => assert.ok(view.opened.length >= 2));
		assert.deepEqual(
			view.opened.map(({ index, split }) => [index, split]),
			[
				[4, 'train'],
				[7, 'train'],
			],
		);
		clean(view);
	});

	it('runs SQL statements', async (t) => {
		// Not among the views that are closed after each subtest.
		const view = await openQuery(browser, database);
		t.after(() => view.close());
		await overview(view);
		const { page } = view;

		await t.test('sorts through the query: descending, ascending, original order', async () => {
			await toSql(
				page,
				"SELECT step, count(*) AS n FROM rollouts WHERE step < 3 OR run = 'a' GROUP BY step ORDER BY step; -- all",
			);
			await summary(page, /^3 rows/);
			const steps = async () => [0, 1, 2].map(async (row) => (await cells(page, row)).join(' '));
			const shown = async () => (await Promise.all(await steps())).join(', ');
			assert.equal(await shown(), '1 80, 2 80, 3 40');
			const head = page.locator('.head-button').filter({ hasText: 'step' });
			const sorted = (how: string | null) =>
				page.waitForFunction(
					(wanted) => document.querySelectorAll('[role="columnheader"]')[1]?.getAttribute('aria-sort') === wanted,
					how,
				);
			await head.click();
			await sorted('descending');
			assert.equal(await shown(), '3 40, 2 80, 1 80');
			await head.click();
			await sorted('ascending');
			await head.click();
			await sorted(null);
			assert.equal(await shown(), '1 80, 2 80, 3 40');
			clean(view);
		});

		await t.test('marks an error in a statement, in the editor and below it', async () => {
			await toSql(page, 'SELECT step,\n  rewrd\nFROM rollouts');
			await page.waitForSelector('.failure');
			assert.match(await page.locator('.failure-words').innerText(), /rewrd/);
			assert.equal(await page.locator('.fault-line mark').innerText(), 'rewrd');
			const selected = () =>
				page.evaluate(() => {
					const editor = document.querySelector('textarea') as HTMLTextAreaElement;
					return editor.value.slice(editor.selectionStart, editor.selectionEnd);
				});
			assert.equal(await selected(), 'rewrd');
			await page.keyboard.type('reward');
			await page.keyboard.press('Control+Enter');
			await summary(page, /^240 rows/);
			clean(view);
		});

		await t.test('inserts names, examples and earlier statements into the editor', async () => {
			await toSql(page, 'SELECT  FROM rollouts');
			await page.waitForSelector('.failure');
			await page.getByLabel('SQL statement').fill('SELECT  FROM rollouts LIMIT 3');
			await page.evaluate(() => {
				const editor = document.querySelector('textarea') as HTMLTextAreaElement;
				editor.focus();
				editor.setSelectionRange(7, 7);
			});
			await page.getByRole('button', { name: 'Insert index', exact: true }).first().click();
			assert.equal(await page.getByLabel('SQL statement').inputValue(), 'SELECT "index" FROM rollouts LIMIT 3');
			await page.keyboard.press('Control+Enter');
			await summary(page, /^3 rows/);
			await page.getByLabel('Examples').selectOption('2');
			assert.match(await page.getByLabel('SQL statement').inputValue(), /WHERE correct/);
			await page.getByLabel('Query history').selectOption('0');
			assert.equal(await page.getByLabel('SQL statement').inputValue(), 'SELECT "index" FROM rollouts LIMIT 3');
			clean(view);
		});

		await t.test('shows ten thousand of a million rows with a note, rendering only a few', async () => {
			await toSql(page, "SELECT range AS n, repeat('x', 200) AS text FROM range(1000000)");
			await summary(page, /^First 10,000 rows, .*Export to get all rows\.$/);
			assert.ok((await page.locator('.data-rows .data-row').count()) < 60);
			await page.locator('.data-rows').focus();
			await page.keyboard.press('End');
			await page.waitForSelector('.data-rows [data-index="9999"]');
			assert.equal((await cells(page, 9999))[0], '9999');
			await button(page, 'Export CSV…').click();
			await page.locator('.remark.done').filter({ hasText: 'Saved 3 rows' }).waitFor();
			assert.deepEqual(
				view.exported.map(({ format }) => format),
				['csv'],
			);
			clean(view);
		});

		await t.test('computes a histogram over all rows, not only those in the table', async () => {
			await toSql(page, 'SELECT range % 4 AS n, range AS m FROM range(100000)');
			await summary(page, /^First/);
			await page.getByLabel('Column for histogram').selectOption('n');
			await page.waitForSelector('.bars');
			assert.deepEqual(
				await page.locator('.bar-room').evaluateAll((bars) => bars.map((bar) => bar.getAttribute('title'))),
				['0', '1', '2', '3'].map((n) => `${n}: 25,000 rows`),
			);
			await page.getByLabel('Column for histogram').selectOption('');
			await page.waitForFunction(() => document.querySelector<HTMLElement>('.histogram')?.hidden);
			clean(view);
		});

		await t.test('cancels a statement and keeps the previous result', async () => {
			await toSql(page, 'SELECT 1 AS one');
			await summary(page, /^1 row,/);
			await toSql(page, "SELECT 'slow' AS two");
			await button(page, 'Cancel').click();
			await page.waitForFunction(
				() => document.querySelector<HTMLElement>('vscode-button[aria-label="Cancel"]')?.hidden,
			);
			assert.deepEqual(view.rolloutIndex.canceled, ['sql']);
			assert.equal(await page.locator('.head-name').first().innerText(), 'one');
			clean(view);
		});

		await t.test('shows hostile cells as text, in one line each', async () => {
			const hostile = '<img src=x onerror=alert(1)>\n\u001b[31m\u202eabc\u0007 [x](command:evil)';
			await toSql(page, `SELECT '${hostile}' AS "<script>alert(1)</script>", repeat('long ', 100000) AS long`);
			// The earlier statement also had one row.
			await page.locator('.head-name', { hasText: 'long' }).waitFor();
			await summary(page, /^1 row,/);
			assert.equal(await page.locator('.result img, .result script').count(), 0);
			const [text, long] = await cells(page, 0);
			assert.match(text ?? '', /^<img src=x onerror=alert\(1\)> ⟨ESC⟩\[31m⟨RLO⟩abc⟨U\+0007⟩/);
			assert.ok((long?.length ?? 0) <= 401);
			const height = await page.locator('.data-rows [data-index="0"]').evaluate((row) => row.clientHeight);
			assert.equal(height, 24);
			clean(view);
		});

		await t.test('resizes columns by pointer and keyboard', async () => {
			await toSql(page, 'SELECT step, reward FROM rollouts LIMIT 2');
			await summary(page, /^2 rows/);
			const width = () =>
				page
					.locator('.head-cell')
					.first()
					.evaluate((cell) => cell.getBoundingClientRect().width);
			const before = await width();
			const grip = await page.locator('.grip').first().boundingBox();
			assert.ok(grip);
			await page.mouse.move(grip.x + 3, grip.y + 5);
			await page.mouse.down();
			await page.mouse.move(grip.x + 63, grip.y + 5, { steps: 3 });
			await page.mouse.up();
			assert.equal(await width(), before + 60);
			await page.locator('.head-button').first().focus();
			await page.keyboard.press('Alt+ArrowLeft');
			assert.equal(await width(), before + 44);
			clean(view);
		});

		await t.test('restores the query and its result without running it again', async () => {
			await toSql(page, 'SELECT step, reward FROM rollouts LIMIT 7');
			await summary(page, /^7 rows/);
			await page.getByLabel('Column for histogram').selectOption('reward');
			await page.waitForSelector('.bars');
			const state = await view.state();
			const asked = view.rolloutIndex.asked.filter(({ method }) => method === 'sql').length;
			await page.reload();
			// The window's state is lost with the page, but the panel's is not.
			await summary(page, /^7 rows/);
			assert.ok(view.rolloutIndex.asked.filter(({ method }) => method === 'sql').length <= asked + 1);
			clean(view);

			const later = await openQuery(browser, database, { state });
			opened.push(later);
			await summary(later.page, /^7 rows/);
			assert.equal(
				await later.page.getByLabel('SQL statement').inputValue(),
				'SELECT step, reward FROM rollouts LIMIT 7',
			);
			await later.page.waitForSelector('.bars');
			clean(later);
		});
	});

	it('streams search hits with progress, and can stop', async () => {
		const view = await open({
			prepare: (rolloutIndex) => {
				rolloutIndex.portionMs = 250;
				rolloutIndex.texts = Array.from({ length: 400 }, (_, i) => `so: wait (${i}) and <b>wait</b> \u202e`);
			},
		});
		const { page } = view;
		await page.getByLabel('Search text').fill('WAIT');
		await page.keyboard.press('Enter');
		await page.waitForSelector('.cell mark');
		await page
			.locator('.progress-text')
			.filter({ hasText: / of \d+ kB/ })
			.waitFor();
		assert.deepEqual((await cells(page, 0)).slice(5), ['2', 'so: wait (0) and <b>wait</b> ⟨RLO⟩']);
		assert.equal(await page.locator('.cell b').count(), 0);
		await summary(page, /^\d+ rollouts so far$/);
		await page.keyboard.press('Escape');
		await summary(page, /; stopped$/);
		assert.deepEqual(view.rolloutIndex.canceled, ['search']);
		await button(page, 'Export CSV…').click();
		await page.locator('.remark.done').filter({ hasText: 'Saved' }).waitFor();
		assert.match(view.saved[0]?.text ?? '', /^run,split,step,group,index,count,text\r\n\/runs\/a,train,1,0,0,2,/);
		clean(view);
	});

	it('searches by regular expression within the conditions, and reports an invalid one', async () => {
		const view = await open();
		const { page } = view;
		await button(page, 'Add Condition').click();
		await page.getByLabel('Condition 1: value').fill('0.5');
		await page.getByLabel('Search text').fill('(12');
		await page.getByText('Regular expression').click();
		await page.locator('.field-fault').filter({ hasText: 'Unterminated group' }).waitFor();
		await page.keyboard.press('Control+Enter');
		await page.getByLabel('Search text').fill('\\d{2}$');
		await page.keyboard.press('Enter');
		await summary(page, /^2 rollouts, 8 kB in 12 ms$/);
		const searches = view.rolloutIndex.asked.filter(({ method }) => method === 'search');
		assert.equal(searches.length, 1, 'an invalid expression is not searched for');
		assert.deepEqual((searches as { params: { filter: unknown } }[])[0]?.params.filter, { where: '"reward" >= 0.5' });
		await page.getByLabel('Search text').fill('nowhere');
		await page.keyboard.press('Enter');
		await page.locator('.empty').filter({ hasText: 'No matches' }).waitFor();
		clean(view);
	});

	it('queries only the selected runs', async () => {
		const view = await open();
		const { page } = view;
		await page.locator('.runs-summary').click();
		assert.match(await page.locator('.run').nth(1).innerText(), /b <b>bold<\/b> ⟨RLO⟩\s*trl\s*120 rollouts/);
		await page.locator('.run input').first().uncheck();
		await page.keyboard.press('Escape');
		await page.keyboard.press('Control+Enter');
		await summary(page, /^120 rows/);
		assert.equal((await cells(page, 0))[0], 'b');
		assert.match(await page.locator('.runs-summary').innerText(), /^b <b>bold/);
		clean(view);
	});

	it('reports what is missing: runs, indexed data, rows, or the index itself', async () => {
		const none = await open({ runs: [] });
		assert.match(await none.page.locator('.empty').innerText(), /No runs yet/);
		await button(none.page, 'Add Runs…').last().click();
		await soon(() => assert.ok(none.addedRuns() > 0));
		assert.equal(none.addedRuns(), 1);
		clean(none);

		const building = await open({
			prepare: (rolloutIndex) => {
				rolloutIndex.status = { ...rolloutIndex.status, runs: [indexed('/runs/a', { state: 'indexing', done: 250 })] };
			},
		});
		await building.page.locator('.remark').filter({ hasText: 'Indexing 2 of 2 runs, 25%' }).waitFor();
		building.rolloutIndex.report(indexed('/runs/a'));
		building.rolloutIndex.report(indexed("/runs/b's", { state: 'failed', message: 'no room' }));
		await building.page
			.locator('.remark')
			.filter({ hasText: /^Indexing failed for 1 run/ })
			.waitFor();
		await toSql(building.page, 'SELECT * FROM rollouts WHERE step > 99');
		await building.page.locator('.empty').filter({ hasText: 'No rows' }).waitFor();
		clean(building);

		const broken = await open({
			prepare: (rolloutIndex) => {
				rolloutIndex.failure = new Failure(
					'unavailable',
					'The index worker cannot start: no room.',
					'Free up disk space.',
				);
			},
		});
		assert.match(await broken.page.locator('.empty').innerText(), /cannot start: no room\. Free up disk space\./);
		clean(broken);
	});
});
