import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { Failure } from '../../../../src/base/failure.ts';
import type { ResultPlace } from '../../../../src/protocol/verificationMessages.ts';
import { launchChromium, skip } from '../../../support/chromium.ts';
import { numberProblems } from '../../rewards/audit/auditedProblems.ts';
import { patience, soon } from '../lateness.ts';
import { looksRight, looksRightNow } from '../webviewLooks.ts';
import { auditedNaive, comparedOn, recordedRun, resultsProject } from './verificationFixture.ts';
import { openResults, type ResultsView, withData, withJudgment } from './verificationHarness.ts';

const options = { timeout: patience(180_000), skip };

let browser: Browser;
before(async () => {
	if (!skip) browser = await launchChromium();
});
after(() => browser?.close());

/** Opens the panel and closes it after the test, which fails if the page had an error. */
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

const size = { width: 1280, height: 1100 };
const widths = [320, 760, 1900];

const place = (file: string): ResultPlace => ({ view: 'verification', file, reward: 'graded' });

test('a verification is accessible in every theme and width', options, async (t) => {
	const project = await resultsProject(t);
	const data = await project.verify();
	assert.ok(data.statistics.errors > 0 && data.statistics.deadGroups > 0 && data.statistics.cases.failed === 1);
	const view = await open(t, place(project.file), { ...size, before: withData(data) });
	await view.page.waitForSelector('.row-detail .block-text');
	await looksRight(view, 'results', widths);
});

test('an audit is accessible in every theme and width', options, async (t) => {
	const report = await auditedNaive(t, numberProblems);
	assert.ok(report.findings.length > 3);
	const at: ResultPlace = { view: 'audit', file: report.file, reward: report.reward };
	const view = await open(t, at, { ...size, before: withJudgment(at, report) });
	await view.page.waitForSelector('.evidence .block-text');
	await looksRight(view, 'audit', widths);
});

test('the comparison is accessible in every theme and width', options, async (t) => {
	const project = await resultsProject(t);
	const run = await recordedRun(project);
	const comparison = await comparedOn(t, run, project.made);
	const { flipped, lost, advantageFlips } = comparison.summary;
	assert.ok(flipped > 0 && lost > 0 && advantageFlips > 0, JSON.stringify(comparison.summary));
	const at: ResultPlace = { view: 'comparison', file: project.file, reward: 'graded', answers: { run, with: 'HEAD' } };
	const view = await open(t, at, { ...size, before: withJudgment(at, comparison) });
	await view.page.waitForSelector('.row-detail .block-text');
	await looksRight(view, 'comparison', widths);
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
