import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { Failure } from '../../../../src/base/failure.ts';
import { parseCases } from '../../../../src/core/reward/verification/labeledCase.ts';
import type { ResultPlace } from '../../../../src/protocol/verificationMessages.ts';
import { launchChromium, skip } from '../../../support/chromium.ts';
import { numberProblems } from '../../rewards/audit/auditedProblems.ts';
import { patience, soon } from '../lateness.ts';
import { looksRight, looksRightNow } from '../webviewLooks.ts';
import { complete } from '../webviewPage.ts';
import { auditedNaive, comparedOn, recordedRun, resultsProject } from './verificationFixture.ts';
import { openResults, type ResultsView, withData, withJudgment } from './verificationHarness.ts';

const options = { timeout: patience(180_000), skip };
let browser: Browser;
before(async () => {
	if (!skip) browser = await launchChromium();
});
after(() => browser?.close());

async function open(
	t: TestContext,
	place: ResultPlace,
	more: Parameters<typeof openResults>[2] = {},
): Promise<ResultsView> {
	const view = await openResults(browser, place, more);
	t.after(async () => {
		const { errors, faults } = view;
		await view.close();
		assert.deepEqual([errors, faults], [[], []], 'page errors');
	});
	return view;
}

/** Size of the pages whose looks are checked, and the widths at which they must fit. */
const size = { width: 1280, height: 1100 };
const widths = [320, 760, 1900];

const place = (file: string): ResultPlace => ({ view: 'verification', file, reward: 'graded' });
const shown = (view: ResultsView, words: string) =>
	view.page.waitForFunction((wanted) => document.querySelector('.filter-result')?.textContent === wanted, words);
const title = (view: ResultsView, words: string) =>
	view.page.waitForFunction((wanted) => document.querySelector('.detail-head h3')?.textContent === wanted, words);

test('rows can be filtered, searched, sorted and opened, by pointer and keyboard', options, async (t) => {
	const project = await resultsProject(t);
	const data = await project.verify();
	assert.ok(data.statistics.errors > 0 && data.statistics.deadGroups > 0 && data.statistics.cases.failed === 1);
	const view = await open(t, place(project.file), { ...size, before: withData(data) });
	const { page } = view;
	await shown(view, '204 rows');
	await title(view, data.rows[0]?.label ?? '');

	await t.test('the page is accessible in every theme and width', async () => {
		await page.waitForSelector('.row-detail .block-text');
		await looksRight(view, 'results', widths);
	});

	await t.test('a tile shows the rows that it counts', async () => {
		await page.getByRole('button', { name: /^Errors/ }).click();
		await shown(view, `${data.statistics.errors} of 204 rows`);
		const first = data.rows.findIndex((row) => row.error !== undefined);
		await title(view, data.rows[first]?.label ?? '');
		assert.match(await page.locator('.row-error').innerText(), /level three is too hard|level three/);
		await page.locator('.row-error vscode-button').click();
		const line = data.rows[first]?.error?.line;
		await soon(() => assert.deepEqual(view.commands.at(-1), { type: 'openFile', line }));
		await page.getByRole('button', { name: /^Labeled cases/ }).click();
		await title(view, 'wrong on purpose');
		assert.match(await page.locator('.facts').innerText(), /Expected\s+1 ✗ fails/);
		await page.getByRole('button', { name: 'Clear' }).click();
		await shown(view, '204 rows');
	});

	await t.test('a click on a distribution bar shows its rows, and a second click shows all rows', async () => {
		const column = page.locator('.column').last();
		const count = Number(await column.locator('.bar-count').innerText());
		await column.click();
		await shown(view, `${count} of 204 rows`);
		assert.equal(await column.getAttribute('aria-pressed'), 'true');
		await column.click();
		await shown(view, '204 rows');
	});

	await t.test('the table contains the same numbers as the bars', async () => {
		await page.locator('.distribution summary').click();
		const cells = await page
			.locator('.distribution tbody tr')
			.evaluateAll((rows) =>
				rows.map((row) => [...row.querySelectorAll('td')].map((cell) => Number(cell.textContent))),
			);
		assert.equal(
			cells.reduce((sum, [total]) => sum + (total as number), 0),
			data.statistics.valued,
		);
		for (const [total, ...parts] of cells)
			assert.equal(
				parts.reduce((sum, n) => sum + n, 0),
				total,
			);
		await page.locator('.distribution summary').click();
	});

	await t.test('a group shows only its rows', async () => {
		await page.locator('.spread-list').focus();
		await page.keyboard.press('Home');
		await shown(view, '5 of 204 rows');
		const group = await page.locator('.row-list [role=option]').count();
		assert.equal(group, 5);
		await page.getByRole('button', { name: 'All groups' }).click();
		await shown(view, '204 rows');
	});

	await t.test('text search runs in the panel', async () => {
		await page.keyboard.press('/');
		await page.keyboard.type('Wrong On Purpose');
		await shown(view, '1 of 204 rows');
		await title(view, 'wrong on purpose');
		await page.getByRole('button', { name: 'Clear' }).click();
		await shown(view, '204 rows');
		// Redrawing rows does not discard typed text.
		const typed = await page.evaluate(() => {
			const field = document.querySelector('.filter-bar .search') as HTMLElement & { value: string };
			const input = field.shadowRoot?.querySelector('input') as HTMLInputElement;
			input.value = 'wrong on';
			input.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
			document.querySelector<HTMLElement>('.filter-bar [aria-label="Best"]')?.click();
			return field.value;
		});
		assert.equal(typed, 'wrong on');
		await shown(view, '1 of 204 rows');
		await page.getByRole('button', { name: 'Clear' }).click();
		await shown(view, '204 rows');
	});

	await t.test('the worst and best rows are one click away', async () => {
		await page.getByRole('button', { name: 'Best' }).click();
		const best = data.rows.reduce((a, b) => ((b.value ?? -1) > (a.value ?? -1) ? b : a));
		await title(view, best.label);
		await page.getByRole('button', { name: 'Worst' }).click();
		const lowest = Math.min(...data.rows.flatMap(({ value }) => value ?? []));
		await page.waitForFunction(
			(value) => document.querySelector('.facts strong')?.textContent === value,
			lowest.toFixed(2),
		);
	});

	await t.test('keys move through the list', async () => {
		await page.locator('.row-list').focus();
		await page.keyboard.press('Home');
		// The open row is loaded after it has been selected.
		const before = await page.locator('.row-list [aria-posinset="1"] .row-label').innerText();
		await title(view, before);
		await page.keyboard.press('j');
		await page.waitForFunction((was) => document.querySelector('.detail-head h3')?.textContent !== was, before);
		await page.keyboard.press('k');
		await title(view, before);
		await page.keyboard.press('End');
		const active = await page.evaluate(() => {
			const id = document.activeElement?.getAttribute('aria-activedescendant') ?? '';
			return document.getElementById(id)?.getAttribute('aria-selected');
		});
		assert.equal(active, 'true');
		// The tiles are one tab stop with arrow keys between them.
		await page.locator('.tile').first().focus();
		await page.keyboard.press('ArrowRight');
		assert.equal(
			await page.evaluate(() => document.activeElement?.querySelector('.tile-name')?.textContent),
			'Range: ',
		);
		assert.equal(await page.locator('.tile[tabindex="0"]').count(), 1);
		await page.waitForSelector('.tooltip:popover-open');
		assert.deepEqual(await view.violations('names'), []);
	});

	await t.test('a row can be debugged, copied, opened as text and located in its file', async () => {
		await page.locator('.row-list').focus();
		await page.keyboard.press('Home');
		const at = (await view.state()) as { row: number };
		const row = data.rows[at.row];
		await page.waitForFunction((label) => document.querySelector('.detail-head h3')?.textContent === label, row?.label);
		for (const name of ['Debug', 'Open as text', 'Copy JSON']) {
			await page.getByRole('button', { name, exact: true }).click();
		}
		await page.getByRole('button', { name: /train\.jsonl:\d+/ }).click();
		await page.waitForFunction(() =>
			document.querySelector('[role=status].visually-hidden')?.textContent?.includes('copied'),
		);
		const asked = () => view.asked.filter(([method]) => !method.startsWith('load') && method !== 'search');
		const params = { result: 1, index: at.row };
		const expected = [
			['debugRow', params],
			['openText', params],
			['copy', { ...params, part: 'json' }],
			['openPlace', params],
		];
		await soon(() => assert.deepEqual(asked(), expected));
		assert.equal(view.written[0], row?.completion);
		assert.deepEqual(JSON.parse(view.written[1] ?? ''), row);
	});
});

test('a panel follows newer results, and restores its state', options, async (t) => {
	const project = await resultsProject(t);
	const data = await project.verify();
	const view = await open(t, place(project.file), { before: withData(data) });
	const { page, verifications } = view;
	await shown(view, '204 rows');
	await page.getByRole('button', { name: /^Dead groups/ }).click();
	await shown(view, `${data.statistics.deadGroups * 5} of 204 rows`);
	verifications.set({ stale: true });
	await page.waitForSelector('.phase .badge.warning');
	await project.made.write('rewards/graded.reward.ts', 'export const graded = () => 1;\n');
	const newer = await project.verify();
	verifications.set({ stale: false });
	verifications.setResults('graded', { data: newer });
	await shown(view, '200 of 204 rows');
	assert.match(await page.locator('.tile').nth(1).innerText(), /1\s+,?\s*all values are equal/);
	assert.equal(await page.locator('.phase .badge').count(), 0);
	assert.match(await page.locator('.correlations').innerText(), /this reward is constant/);

	const state = await view.state();
	const again = await open(t, place(project.file), { before: withData(newer), state });
	await shown(again, '200 of 204 rows');

	const rollouts = await project.verify({ what: { kind: 'rollouts', run: await recordedRun(project) } });
	verifications.setResults('graded', { data: newer, rollouts });
	view.session.choosePart('rollouts');
	await shown(view, '96 rows');
	const unlike = page.getByRole('button', { name: /^Different from run/ });
	assert.match(await unlike.innerText(), /96 of 96/);
	await page.getByRole('button', { name: 'Rollouts', exact: true }).click();
	await soon(() => assert.equal(view.written.length, 1));
	const opened = JSON.parse(view.written.at(-1) ?? '{}') as { run: string; step: number; group: number };
	assert.deepEqual([opened.step, opened.group], [1, 0]);
	assert.match(opened.run, /runs.sums-20261120-101010-ab12$/);
});

test(
	'a thousand rows stay responsive, and only the visible part of a megabyte of text is rendered',
	options,
	async (t) => {
		const long = `<think>${'step by step we add '.repeat(52_429)}</think><answer>0</answer>`;
		const problems = Array.from({ length: 250 }, (_, i) => ({
			prompt: `${i}+1=`,
			answer: String(i + 1),
			solution: i === 0 ? long.slice(7, -30) : `${i} plus 1`,
			level: i % 5,
		}));
		const project = await resultsProject(t, { problems });
		const data = await project.verify({ rows: 1000 });
		assert.ok(data.rows.length >= 1000, `${data.rows.length}`);
		const index = data.rows.findIndex(({ completion }) => completion.length > 1_000_000);
		assert.ok(index >= 0);
		const view = await open(t, place(project.file), { before: withData(data) });
		const { page } = view;
		await page.waitForFunction(() => /1.00\d rows/.test(document.querySelector('.filter-result')?.textContent ?? ''));
		assert.equal(view.asked.filter(([method]) => method === 'loadRows').length, Math.ceil(data.rows.length / 400) - 1);
		assert.ok((await page.locator('.row-list [role=option]').count()) < 60, 'only rows in view are drawn');
		await page.locator('.row-list').focus();
		await page.keyboard.press('End');
		await page.waitForSelector(`.row-list [aria-posinset="${data.rows.length}"][aria-selected="true"]`);
		await page.keyboard.press('/');
		await page.keyboard.type('step by step we add step');
		await page.waitForFunction(
			(label) => document.querySelector('.detail-head h3')?.textContent === label,
			data.rows[index]?.label,
		);
		await page.waitForSelector('.row-detail mark');
		assert.ok((await page.locator('.row-detail .block').count()) < 80, 'only blocks in view are drawn');
		assert.ok((await page.evaluate(() => document.querySelectorAll('*').length)) < 5000);
	},
);

// `npm test` covers this in `hostilePages.test.ts`; this test runs only in `npm run acceptance -- pageLooks`.
if (complete)
	test('malicious text is shown as plain text: it creates no elements and runs no scripts', options, async (t) => {
		const attacks = [
			'<img src=x onerror="window.attacked=1"><svg onload="window.attacked=2">',
			'</script><script>window.attacked=3</script><style>body{display:none}</style>',
			'</think></div></article><iframe srcdoc="<script>parent.attacked=4</script>"></iframe>',
			'<a href="javascript:attacked=5">x</a><form><button autofocus onfocus="attacked=6">',
			'abc\u202e\u2066\u200b\u0000\u001b[31m\u00ad\ufeffxyz',
		];
		const problems = attacks.map((attack, i) => ({
			prompt: attack,
			answer: `${i} ${attack}`,
			solution: attack,
			level: i,
		}));
		const reward = `export const graded = ({ prompt, completion }) => {
	if (completion.length % 3 === 0) throw new Error(prompt);
	return completion.length;
};
`;
		const evil = attacks.toReversed().join(' ');
		const line = JSON.stringify({ name: evil, prompt: evil, completion: evil, expect: 1 });
		const project = await resultsProject(t, { problems, reward, cases: line });
		const data = await project.verify();
		const view = await open(
			t,
			{ ...place(project.file) },
			{ before: withData({ ...data, remarks: [evil], data: [evil] }) },
		);
		const { page } = view;
		const harmless = async () => {
			assert.equal(await page.evaluate(() => (window as { attacked?: number }).attacked), undefined);
			const bad = await page.locator('#app :is(img, iframe, script, style, form, a, object)').count();
			assert.equal(bad, 0);
		};
		await page.waitForSelector('.row-detail .block-text');
		await harmless();
		await page.getByRole('button', { name: /^Errors/ }).click();
		await page.waitForSelector('.row-error');
		await harmless();
		assert.deepEqual(await view.violations('names'), []);
		await page.getByRole('button', { name: 'Clear' }).click();
		await page.locator('.row-list').focus();
		await page.keyboard.press('End');
		await page.waitForFunction(() => document.querySelector('.detail-head h3')?.textContent?.includes('⟨RLO⟩'));
		const hidden = await page.locator('.row-detail .m-hidden').allInnerTexts();
		for (const name of ['RLO', 'LRI', 'ZWSP', 'NUL', 'ESC', 'SHY', 'BOM']) assert.ok(hidden.includes(name), name);
		const raw = await page.evaluate(() => document.body.innerText);
		for (const character of '\u202e\u2066\u200b\u0000\u001b')
			assert.ok(!raw.includes(character), 'hidden characters are shown by name');
		await harmless();

		const problem = numberProblems.map((one, i) => ({
			...one,
			problem: { ...one.problem, prompt: `${one.problem.prompt} ${attacks[i % attacks.length]}` },
		}));
		const report = await auditedNaive(t, problem);
		const at: ResultPlace = { view: 'audit', file: report.file, reward: report.reward };
		const audit = await open(t, at, { before: withJudgment(at, { ...report, remarks: [evil] }) });
		await audit.page.waitForSelector('.evidence .block-text');
		for (const summary of await audit.page.locator('.more-findings > summary').all()) await summary.click();
		for (const summary of await audit.page.locator('.finding summary').all()) await summary.click();
		assert.equal(await audit.page.evaluate(() => (window as { attacked?: number }).attacked), undefined);
		assert.equal(await audit.page.locator('#app :is(img, iframe, script, style, form, a)').count(), 0);
	});

test('an audit lists its probes by outcome, with evidence that can be exported', options, async (t) => {
	const report = await auditedNaive(t, numberProblems);
	assert.ok(report.findings.length > 3);
	const at: ResultPlace = { view: 'audit', file: report.file, reward: report.reward };
	const folder = await mkdtemp(join(tmpdir(), 'audit-cases-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	const cases = join(folder, 'naive.cases.jsonl');
	const view = await open(t, at, { ...size, before: withJudgment(at, report), cases });
	const { page } = view;
	await page.waitForSelector('.evidence .block-text');
	await t.test('the page is accessible in every theme and width', () => looksRight(view, 'audit', widths));
	// Each cause appears once, with its count and one example.
	const causes = Map.groupBy(report.findings, ({ cause }) => cause);
	assert.deepEqual(
		await page.locator('.finding-cluster > h3').allInnerTexts(),
		[...causes].map(([cause, { length }]) => `${cause} ${length} ${length === 1 ? 'finding' : 'findings'}`),
	);
	assert.ok(causes.size < report.findings.length);
	assert.equal(await page.locator('.finding:visible').count(), causes.size);
	await page.getByRole('button', { name: 'Add to Cases' }).first().click();
	await page.waitForFunction(() => document.querySelector('.added-case')?.textContent?.includes('line 1.'));
	const made = parseCases(await readFile(cases, 'utf8'));
	assert.deepEqual(made.faults, []);
	assert.ok(await page.getByRole('button', { name: 'Added' }).isDisabled(), 'the same case cannot be added twice');
	const [evidence] = report.findings[0]?.evidence ?? [];
	assert.deepEqual(
		made.cases.map(({ reward, completion, expect }) => [reward, completion, expect]),
		[[report.reward, evidence?.completion, { max: 0.99 }]],
	);
	assert.equal(await page.locator('.finding').count(), report.findings.length);
	assert.equal(await page.locator('.probe-table tbody tr').count(), report.probes.length);
	const [first] = report.findings;
	assert.match(
		await page.locator('.finding').first().innerText(),
		new RegExp(`${first?.fooled} of ${first?.rows} rows`),
	);
	await page
		.getByRole('button', { name: /^Copy row 1 of/ })
		.first()
		.click();
	await page.waitForFunction(() =>
		document.querySelector('[role=status].visually-hidden')?.textContent?.includes('copied'),
	);
	assert.equal(view.written[0], first?.evidence[0]?.completion);
	await page.locator('.panel:last-child vscode-dropdown').click();
	await page.locator('vscode-option[value="held"]').click();
	const held = report.probes.filter(({ outcome }) => outcome === 'held').length;
	await page.waitForFunction((n) => document.querySelectorAll('.probe-table tbody tr').length === n, held);
	// The previous report stays visible during a new audit, and remains after a cancellation.
	const anew = assert.rejects(
		view.judgments.run(
			at,
			new AbortController().signal,
			(signal) => new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
		),
		{ reason: 'cancelled' },
	);
	await page.waitForFunction(() => document.querySelector('.phase')?.textContent === 'Running…');
	await page.getByRole('button', { name: 'Cancel' }).click();
	await anew;
	await page.waitForFunction(() => document.querySelector('.phase')?.textContent === '');
	assert.equal(await page.locator('.finding').count(), report.findings.length);
});

test('a comparison shows its groups, and opens the rollouts of a group or row', options, async (t) => {
	const project = await resultsProject(t);
	const run = await recordedRun(project);
	const comparison = await comparedOn(t, run, project.made);
	const { flipped, lost: lostGroups, advantageFlips } = comparison.summary;
	assert.ok(flipped > 0 && lostGroups > 0 && advantageFlips > 0, JSON.stringify(comparison.summary));
	const at: ResultPlace = { view: 'comparison', file: project.file, reward: 'graded', answers: { run, with: 'HEAD' } };
	const view = await open(t, at, { ...size, before: withJudgment(at, comparison) });
	const { page } = view;
	await shown(view, '96 rows');
	await t.test('the page is accessible in every theme and width', async () => {
		await page.waitForSelector('.row-detail .block-text');
		await looksRight(view, 'comparison', widths);
	});
	await page.getByRole('button', { name: /^Flipped/ }).click();
	await shown(view, `${flipped} of 96 rows`);
	await page.getByRole('button', { name: 'Clear' }).click();
	await page.locator('.compared-list').focus();
	await page.keyboard.press('Home');
	await shown(view, '8 of 96 rows');
	const lost = comparison.groups.find(({ variance }) => variance === 'lost');
	await page.locator('.detail-head h3', { hasText: `Step ${lost?.step}, group ${lost?.group},` }).waitFor();
	await page.getByRole('button', { name: 'Open rollouts' }).click();
	await page.getByRole('button', { name: 'Rollouts', exact: true }).click();
	await soon(() => assert.equal(view.written.length, 2));
	const expected = { run, step: lost?.step, group: lost?.group };
	assert.deepEqual(
		view.written.map((text) => JSON.parse(text) as unknown),
		[expected, expected],
	);
	await page.locator('.rows-panel vscode-dropdown[aria-label="Sort"]').click();
	await page.locator('vscode-option[value="change"]').click();
	await page.getByRole('button', { name: 'All groups' }).click();
	await shown(view, '96 rows');
	await page.locator('.row-list').focus();
	await page.keyboard.press('Home');
	// Changes to or from null come first.
	await page.waitForFunction(() => /to null/.test(document.querySelector('.facts')?.textContent ?? ''));
});

test('missing results are reported with a suggested action', options, async (t) => {
	const project = await resultsProject(t);
	const view = await open(t, place(project.file));
	const { page, verifications } = view;
	const shows = (words: RegExp) =>
		page.waitForFunction(
			([source]) => new RegExp(source as string).test(document.querySelector('.empty')?.textContent ?? ''),
			[words.source],
		);
	await shows(/No results in this window.*Verify$/);
	await looksRightNow(view, 'results-idle');
	await page.locator('.empty vscode-button').click();
	await soon(() => assert.deepEqual(view.commands, [{ type: 'again' }]));
	verifications.set({ phase: 'loading' });
	await shows(/Loading the reward file/);
	await page.locator('.empty vscode-button').click();
	await soon(() => assert.deepEqual(view.commands.at(-1), { type: 'cancel' }));
	verifications.set({
		phase: 'failed',
		failure: new Failure('invalid', 'graded.reward.ts:3: Unexpected token.', 'Mend the line.'),
	});
	await shows(/could not be verified.*Unexpected token.*Mend the line/);
	await looksRightNow(view, 'results-failed');
	const data = await project.verify();
	verifications.setResults('graded', { data });
	await page.waitForSelector('.row-detail .block-text');
	verifications.set({ phase: 'failed' });
	await page.waitForSelector('.notice');
	assert.match(await page.locator('.notice').innerText(), /The last run failed.*Unexpected token/s);
	assert.match(await page.locator('.phase').innerText(), /Failed.*Outdated/s);
	assert.ok(await page.locator('.tiles').isVisible(), 'the earlier result stays');
	await looksRightNow(view, 'results-failed-stale');
	verifications.set({ phase: 'running', failure: null, stale: true });
	await page.waitForFunction(() => document.querySelector('.phase')?.textContent?.includes('Running'));
	assert.equal(await page.locator('.notice').count(), 0);
	assert.ok(await page.getByRole('button', { name: 'Cancel' }).isVisible());
});
