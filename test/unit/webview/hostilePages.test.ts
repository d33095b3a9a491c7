import assert from 'node:assert/strict';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type * as v from 'valibot';
import { dashboardEventSchema, dashboardRequests } from '../../../src/protocol/dashboardMessages.ts';
import { datasetEventSchema, datasetRequests } from '../../../src/protocol/datasetMessages.ts';
import { episodeEventSchema, episodeRequests } from '../../../src/protocol/episodeMessages.ts';
import { panelEventSchema, panelRequests } from '../../../src/protocol/explorerMessages.ts';
import { playgroundEventSchema, playgroundRequests } from '../../../src/protocol/playgroundMessages.ts';
import { queryEventSchema, queryRequests } from '../../../src/protocol/queryMessages.ts';
import { comparisonEventSchema, comparisonRequests } from '../../../src/protocol/runComparisonMessages.ts';
import { strategiesEventSchema, strategiesRequests } from '../../../src/protocol/strategiesMessages.ts';
import { treeEventSchema } from '../../../src/protocol/treeLog.ts';
import { treeViewEventSchema } from '../../../src/protocol/treeMessages.ts';
import { type ResultPlace, resultEventSchema, resultRequests } from '../../../src/protocol/verificationMessages.ts';
import type { RequestTable } from '../../../src/protocol/webviewMessages.ts';
import { openTable } from '../../../src/runs/dataset/openTable.ts';
import { root } from '../../scripts/paths.ts';
import { launchChromium, skip } from '../../support/chromium.ts';
import { hostileTexts } from '../../support/hostileTexts.ts';
import { agentEvents, mctsEvents } from '../../support/treeEvents.ts';
import { guessing } from '../episodes/guessingEnvironment.ts';
import { numberProblems } from '../rewards/audit/auditedProblems.ts';
import { grpoRecipe, writeComparedRun } from './comparison/comparisonFixture.ts';
import { openComparison } from './comparison/comparisonHarness.ts';
import { writeMetricsRun } from './dashboard/dashboardFixture.ts';
import { openDashboard } from './dashboard/dashboardHarness.ts';
import { openDataset } from './dataset/datasetHarness.ts';
import { openEpisodeView, openSession, writeEnvironment } from './episode/episodeHarness.ts';
import { harmless } from './hostileLooks.ts';
import { hostileMessages, TextReplacement } from './hostileMessages.ts';
import { adder, openPlayground, scripted } from './playground/playgroundHarness.ts';
import { openQuery } from './query/queryHarness.ts';
import { queryTables } from './query/queryTables.ts';
import { writeExploredRun } from './rollouts/exploredRunFixture.ts';
import { openRollouts } from './rollouts/rolloutsHarness.ts';
import { makeComparison, openStrategies } from './strategies/strategiesHarness.ts';
import { openTranscript } from './transcript/transcriptHarness.ts';
import { openTree } from './tree/treeHarness.ts';
import { auditedNaive, comparedOn, recordedRun, resultsProject } from './verification/verificationFixture.ts';
import { openResults, withData, withJudgment } from './verification/verificationHarness.ts';
import type { Alteration, Webview } from './webviewPage.ts';

/*
 * Tests each page with its panel's own session. All texts sent to the page, values as well as names in records, are
 * replaced by hostile ones unless the message schemas constrain them.
 */

const options = { timeout: 240_000, skip };
const names = ['__proto__', 'constructor', 'hasOwnProperty', 'toString', '__defineGetter__'];
const short = [...Object.values(hostileTexts).filter((text) => text.length <= 1200), ...names];
const long = Object.values(hostileTexts)
	.filter((text) => text.length > 1200)
	.map((text) => text.slice(0, 5000));
/** Used once per cycle, because panels truncate most of what they send. */
const giant = [`1 MB ${'line '.repeat(200_000)}`, 'a\n'.repeat(100_000), 'W'.repeat(200_000)];
/** Whether `npm run acceptance -- hostilePages` runs this file: all passes, and more views of each. */
const thorough = process.env.HOSTILE_PASSES === 'all';
/** Passes that give each field different texts. */
const passes = thorough
	? [
			{ name: 'short texts', texts: short, begin: 0 },
			{ name: 'short texts, others', texts: short, begin: 37 },
			{ name: 'long texts', texts: [...giant, ...Array.from({ length: 8 }, () => long).flat()], begin: 0 },
		]
	: [{ name: 'texts of all lengths', texts: [...short, ...long.slice(0, 2), ...giant], begin: 0 }];

/**
 * Probes of each outcome and nearly every cause: findings, without a finding, and skipped. Their reports contain enough
 * texts for one cycle.
 */
const someProbes = [
	...['no-answer', 'answer-only-in-thinking', 'wrong-answer', 'claim', 'every-candidate', 'either-or', 'many-answers'],
	...['prompt-echo', 'gold-from-prompt', 'long-answer', 'buried-answer', 'near-miss', 'html-comment', 'phantom'],
	...['judge-verdict', 'fake-messages', 'gold-absent', 'empty', 'refusal', 'no-thinking', 'code-exit'],
];

let browser: Browser;
let folder = '';
before(async () => {
	folder = await mkdtemp(join(tmpdir(), 'hostile-pages-'));
	if (!skip) browser = await launchChromium();
});
after(async () => {
	await browser?.close();
	await rm(folder, { recursive: true, force: true });
});

type Opened = Webview & { readonly faults: readonly string[] };

/** Opens a page in each pass and checks everything that can be opened on it. */
async function everyPass<View extends Opened>(
	t: TestContext,
	[events, requests]: readonly [v.GenericSchema, RequestTable],
	open: (alteration: { readonly alteration: Alteration; readonly width: number }) => Promise<View>,
	look: (view: View, harm: (name: string) => Promise<void>) => Promise<void>,
): Promise<void> {
	for (const { name, texts, begin } of passes) {
		await t.test(name, async () => {
			const replacement = new TextReplacement(texts, begin);
			const view = await open({ alteration: hostileMessages(events, requests, replacement), width: 620 });
			try {
				await look(view, (what) => harmless(view, what));
				assert.ok(replacement.count > 2, `${replacement.count} texts were replaced`);
				assert.deepEqual([view.errors, view.faults], [[], []], 'page errors');
			} finally {
				await view.close();
			}
		});
	}
}

/** Opens every closed section, tab by tab. */
async function tabs(page: Page, harm: (name: string) => Promise<void>): Promise<void> {
	const all = page.getByRole('tab');
	for (let i = 0, count = await all.count(); i < count; i++) {
		await all.nth(i).click();
		await page.evaluate(() => {
			for (const node of document.querySelectorAll('details')) node.open = true;
		});
		await frames(page);
		await harm(`tab ${i + 1}`);
	}
}

/** Waits for the next frames to be drawn. */
const frames = (page: Page) =>
	page.evaluate(async () => {
		for (let i = 0; i < 3; i++) await new Promise((resolve) => requestAnimationFrame(resolve));
	});

test('tree: hostile text in every field', options, async (t) => {
	await everyPass(
		t,
		[treeViewEventSchema, {}],
		async (more) => openTree(browser, more),
		async (view, harm) => {
			const { page } = view;
			for (const [grown, keys] of [
				[agentEvents(), ['Home', 'ArrowRight', 'End']],
				[mctsEvents({ nodes: 30 }), ['Home', 'End']],
			] as const) {
				const replacement = new TextReplacement(short, 11);
				await view.show(grown.map((event) => replacement.apply(treeEventSchema, event) as typeof event));
				await page.waitForSelector('[role=treeitem]', { state: 'attached' });
				await page.locator('.tree-stage').focus();
				for (const key of thorough ? ['Home', 'ArrowRight', 'ArrowDown', 'ArrowRight', 'End'] : keys) {
					await page.keyboard.press(key);
					await frames(page);
					await tabs(page, harm);
					await page.locator('.tree-stage').focus();
				}
			}
		},
	);
});

test('query: hostile text in every field', options, async (t) => {
	const database = await queryTables();
	await everyPass(
		t,
		[queryEventSchema, queryRequests],
		(more) => openQuery(browser, database, more),
		async ({ page }, harm) => {
			await page.waitForSelector('.result .empty');
			await page.locator('.runs-summary').click();
			await page.locator('vscode-button[aria-label="Add Condition"]').click();
			await harm('the form');
			await page.getByRole('tab', { name: 'SQL' }).click();
			for (const [statement, shown] of [
				['FROM rollouts LIMIT 12', '.data-rows [data-index="0"]'],
				["SELECT 'x' AS a, run, count(*) AS n FROM rollouts GROUP BY run", '.data-rows [data-index="0"]'],
				['SELECT nothing FROM rollouts', '.failure'],
			] as const) {
				await page.getByLabel('SQL statement').fill(statement);
				await page.keyboard.press('Control+Enter');
				await page.waitForSelector(shown);
				await tabs(page, harm);
				await page.getByRole('tab', { name: 'SQL' }).click();
			}
		},
	);
});

test('strategies: hostile text in every field', options, async (t) => {
	const made = await makeComparison({ samples: 2, bandSamples: 2 });
	t.after(() => rm(dirname(made), { recursive: true, force: true }));
	await everyPass(
		t,
		[strategiesEventSchema, strategiesRequests],
		(more) => openStrategies(browser, made, more),
		async ({ page }, harm) => {
			await page.waitForSelector('.point');
			await harm('the points');
			await page.locator('.point-name').nth(2).click();
			await page.waitForSelector('.searches tbody tr');
			await page.locator('.point').first().hover();
			await harm('the searches');
		},
	);
});

test('playground: hostile text in every field', options, async (t) => {
	const [first, second] = await Promise.all([scripted(adder, 'adder'), scripted(adder, 'other')]);
	await everyPass(
		t,
		[playgroundEventSchema, playgroundRequests],
		(more) => openPlayground(browser, { ...more, policies: [first, second] }),
		async ({ page, session }, harm) => {
			for (const [i, text] of ['What is 17 + 25?', 'fail', 'hostile'].entries()) {
				// Until the policies are known, and while they generate, the page sends nothing.
				await page.waitForSelector('vscode-button[aria-label="Ask"]:not([disabled])');
				await page.getByRole('textbox', { name: 'Question', exact: true }).fill(text);
				await page.getByRole('textbox', { name: 'Question', exact: true }).press('Control+Enter');
				await page.waitForFunction((n) => document.querySelectorAll('.history-row').length > n, i);
				await session.settled;
				await frames(page);
				await harm(text);
			}
			await page.getByRole('button', { name: 'Tokens', exact: true }).click();
			await frames(page);
			await harm('tokens');
		},
	);
});

test('reward verification, audit and comparison: hostile text in every field', options, async (t) => {
	const project = await resultsProject(t);
	const data = await project.verify(thorough ? {} : { rows: 40 });
	const report = await auditedNaive(t, numberProblems.slice(0, 2), thorough ? undefined : someProbes);
	const run = await recordedRun(project, 1, 3, 4);
	const comparison = await comparedOn(t, run, project.made);
	const { file } = project;
	const at = {
		verification: { view: 'verification', file, reward: 'graded' },
		audit: { view: 'audit', file: report.file, reward: report.reward },
		comparison: { view: 'comparison', file, reward: 'graded', answers: { run, with: 'HEAD' } },
	} satisfies Record<string, ResultPlace>;
	const befores = {
		verification: withData(data),
		audit: withJudgment(at.audit, report),
		comparison: withJudgment(at.comparison, comparison),
	};
	for (const view of ['verification', 'audit', 'comparison'] as const) {
		await t.test(view, (own) =>
			everyPass(
				own,
				[resultEventSchema, resultRequests],
				(more) => openResults(browser, at[view], { ...more, before: befores[view] }),
				async ({ page }, harm) => {
					await page.waitForSelector('.block-text');
					await harm(view);
					await tabs(page, harm);
				},
			),
		);
	}
});

test('episode: hostile text in every field', options, async (t) => {
	const file = await writeEnvironment(guessing, [{ number: 3 }]);
	const session = await openSession({ file }, () => undefined);
	t.after(() => session.dispose());
	session.reset({ type: 'reset', index: 0, columns: null, seed: 1 });
	await session.settled;
	for (const [turn, value] of [2, 'three'].entries()) {
		session.call({ type: 'call', branch: 1, turn, calls: [{ name: 'guess', arguments: { value } }] });
		await session.settled;
	}
	session.replay(1);
	await session.settled;
	const { branches } = session;
	const failed = {
		...branches[0],
		id: 3,
		error: { during: 'call', kind: 'threw', message: 'It failed.', line: 3 },
		note: 'A note.',
	};
	const started = { branches: [...branches, failed as (typeof branches)[number]], show: { branch: 3, turn: 2 } };
	await everyPass(
		t,
		[episodeEventSchema, episodeRequests],
		(more) => openEpisodeView(browser, { file, started, ...more }),
		async ({ page }, harm) => {
			await page.locator('.next .argument').first().waitFor();
			await harm('a failed turn');
			await page.locator('.episodes .row-button').nth(1).click();
			await frames(page);
			await harm('a replay');
			await page.getByRole('button', { name: 'Edit Row' }).click();
			await page.locator('body').press('Home');
			await page.locator('.given summary').click();
			await harm('the reset');
		},
	);
});

test('dataset: hostile text in every field', options, async (t) => {
	const rows = Array.from({ length: 60 }, (_, i) => ({ question: `What is ${i}?`, answer: `${i}`, tags: ['a'], n: i }));
	const file = join(folder, 'train.jsonl');
	await writeFile(file, `${rows.map((row) => JSON.stringify(row)).join('\n')}\n{"broken": \n`);
	await everyPass(
		t,
		[datasetEventSchema, datasetRequests],
		(more) => openDataset(browser, 'train.jsonl', () => openTable(file), more),
		async ({ page, session }, harm) => {
			await page.locator('.data-rows [data-index="0"] .row-number:not(:empty)').waitFor();
			await session.addTests([file]);
			await harm('rows');
			await tabs(page, harm);
			await page.locator('.data-rows [data-index="5"] .cell').first().click();
			await frames(page);
			await harm('a row');
		},
	);
});

test('run comparison: hostile text in every field', options, async (t) => {
	const runs = [
		await writeComparedRun(folder, { name: 'baseline', level: 0.45, recipe: grpoRecipe() }),
		await writeComparedRun(folder, { name: 'higher clip', level: 0.9, recipe: grpoRecipe({ beta: 0.04 }) }),
	];
	await everyPass(
		t,
		[comparisonEventSchema, comparisonRequests],
		(more) => openComparison(browser, runs, more),
		async ({ page }, harm) => {
			await page.waitForSelector('canvas');
			await harm('curves');
			await tabs(page, harm);
		},
	);
});

test('transcript: hostile text in every field', options, async (t) => {
	const texts = [...short, ...long, ...giant];
	const file = join(folder, 'transcript.json');
	const messages = texts.flatMap((text, i) => [
		{ role: 'user', content: text, name: text.slice(0, 200) },
		{
			role: 'assistant',
			content: text,
			reasoning_content: text.slice(0, 5000),
			tool_calls: [
				{
					id: `${i}`,
					type: 'function',
					function: {
						name: text.slice(0, 200),
						arguments: JSON.stringify({ [text.slice(0, 50)]: text.slice(0, 5000) }),
					},
				},
			],
		},
		{
			role: 'tool',
			tool_call_id: i % 2 ? `${i}` : text.slice(0, 50),
			name: text.slice(0, 200),
			content: text.slice(0, 5000),
		},
	]);
	await writeFile(file, JSON.stringify({ id: short[0], title: short[1], model: short[2], messages }));
	const view = await openTranscript(browser, { kind: 'file', file }, { width: 620 });
	t.after(() => view.close());
	const { page } = view;
	const harm = (name: string) => harmless(view, name);
	await page.waitForSelector('.message');
	await harm('messages');
	await tabs(page, harm);
	for (let at = 0; at < texts.length; at += 7) {
		await page.evaluate((i) => document.querySelectorAll<HTMLElement>('.message-head')[i]?.click(), at % 8);
		await page.keyboard.press('PageDown');
		await frames(page);
		await harm(`message ${at}`);
	}
	assert.deepEqual([view.errors, view.faults], [[], []], 'page errors');
});

test('dashboard: hostile text in every field', options, async (t) => {
	const run = join(folder, 'dashboard');
	await writeMetricsRun(run, { sft: 10, grpo: 20, extra: (step) => ({ 'what/nobody/knows': step }) });
	const trl = join(folder, 'trl');
	await cp(join(root, 'test/fixtures/trl-run'), trl, { recursive: true });
	for (const shown of [run, trl]) {
		await everyPass(
			t,
			[dashboardEventSchema, dashboardRequests],
			(more) => openDashboard(browser, shown, more),
			async ({ page }, harm) => {
				await page.waitForSelector('canvas');
				await harm('charts');
				await tabs(page, harm);
			},
		);
	}
});

test('rollouts: hostile text in every field', options, async (t) => {
	const run = join(folder, 'bakery');
	await writeExploredRun(run, 2, 4);
	await everyPass(
		t,
		[panelEventSchema, panelRequests],
		(more) => openRollouts(browser, run, more),
		async ({ page }, harm) => {
			await page.waitForSelector('.card .block-text');
			await harm('the group');
			await page.keyboard.press('t');
			await page.waitForSelector('.card .token');
			await harm('tokens');
			await page.keyboard.press('t');
			for (const [key, shown] of [
				['d', '.compare-view'],
				['s', '.label-view'],
				['3', '.training-view'],
				['4', '.behaviors-view'],
			] as const) {
				await page.keyboard.press(key);
				await page.waitForSelector(shown);
				await frames(page);
				await harm(shown);
				await page.keyboard.press('Escape');
				await page.keyboard.press('1');
			}
		},
	);
});
