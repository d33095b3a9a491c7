// @reaches extension rewardHost rewardPython verification
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Frame, Locator } from 'playwright-core';
import { skip } from '../support/chromium.ts';
import { inOrder, Laboratory, readLines, waitUntil } from './laboratory.ts';
import { DashboardPage } from './pages/dashboardPage.ts';
import { RewardPage } from './pages/rewardPage.ts';
import { RolloutsPage } from './pages/rolloutsPage.ts';
import { TestExplorerPage } from './pages/testExplorerPage.ts';

/** Rewards any mention of the answer, like many first attempts at a reward. */
const planted = `import type { Reward } from 'reasoning-lab';

// @dataset ../data/train.jsonl
export const right: Reward = ({ completion, answer, trace, truncated }) => {
	if (!answer) return null;
	const worst = Math.min(1, completion.length / 1000);
	return completion.includes(String(answer)) ? 1 : -worst;
};
`;
const honest = 'return trace.faults.length === 0 && !truncated && trace.answer === answer ? 1 : -worst;';
const unsure = '<think>It is 14 or 45.</think><answer>14</answer>';
const cases = [
	{
		name: 'right',
		prompt: '2*7+31',
		completion: '<think>45</think><answer>45</answer>',
		row: { answer: '45' },
		expect: 1,
	},
	{ name: 'named, not chosen', prompt: '2*7+31', completion: unsure, row: { answer: '45' }, expect: { max: 0 } },
];

test('writes rewards whose results appear next to their signatures, and trains with them', { skip }, async (t) => {
	const lab = await Laboratory.open(t, 'rewards', {
		// Keep the typed text exactly as entered.
		settings: { 'editor.autoIndent': 'none', 'editor.autoClosingBrackets': 'never' },
	});
	const path = (name: string) => join(lab.workspace, name);
	const textOf = (name: string) => readFileSync(path(name), 'utf8');
	const lineOf = (name: string, text: string) => {
		const lines = textOf(name).split('\n');
		const line = lines.findIndex((one) => one.includes(text)) + 1;
		assert.ok(line > 0, `${name} has no ${text}`);
		return line;
	};
	// Tall enough to show a file, its problems and its decorations together.
	const workbench = await lab.workbench({ viewport: { width: 1400, height: 1200 } });
	const { page } = workbench;
	const sidebar = page.locator('.sidebar');
	const step = inOrder(t);
	const steps = new RewardPage(workbench, 'steps.reward.ts');
	const right = new RewardPage(workbench, 'right.reward.ts');
	const tests = new TestExplorerPage(workbench);
	/** Returns the results panel with this title once it is visible with content that no other panel has. */
	const results = async (title: string, wanted: (frame: Frame) => Locator): Promise<Frame> => {
		await page.locator('.editor-group-container .tab.active', { hasText: title }).waitFor();
		let found: Frame | undefined;
		await waitUntil(async () => {
			for (const frame of page.frames()) {
				const seen = wanted(frame).first().isVisible();
				if (await seen.catch(() => false)) found = frame;
			}
			return found !== undefined;
		}, `${title} shows ${wanted}`);
		return found as Frame;
	};

	await step('an empty workspace offers a new reward, and a new project comes with two', async () => {
		await workbench.openSideBar();
		await sidebar.getByRole('button', { name: 'New Reward' }).waitFor();
		await workbench.screenshot('rewards-empty');
		await workbench.command('Reasoning Lab: New Project');
		await workbench.quickItems().filter({ hasText: 'Your own problems' }).waitFor();
		await page.keyboard.press('Enter');
		await workbench.editorTab(/starter\.recipe\.json/).waitFor();
		for (const name of ['concise', 'steps'])
			await sidebar.getByRole('treeitem', { name: `${name}, not verified` }).waitFor();
	});

	await step('a TypeScript reward is verified when it is opened', async () => {
		await steps.open();
		await steps.untilInline(/^0\.20 ± 0\.40 · gold 100% · 5 cases/);
		for (const title of ['Verify', 'On Last Rollouts', 'Debug Row', 'Compare', 'Audit', 'Use in Run', 'Results']) {
			await steps.lens(title).waitFor();
		}
		await sidebar.getByRole('treeitem', { name: /^steps, verified, 0\.20/ }).waitFor();
	});

	await step('hovering over the signature shows the best and the worst row', async () => {
		await steps.goTo(lineOf('rewards/steps.reward.ts', 'export const steps'), 'export const st'.length + 1);
		await workbench.command('Show or Focus Hover');
		const hover = page.locator('.monaco-hover.fade-in, .monaco-resizable-hover').filter({ hasText: 'Best: 1.00' });
		await hover.first().waitFor();
		await workbench.screenshot('rewards-hover');
		await page.keyboard.press('Escape');
	});

	await step('an edit is saved, and the inline result changes', async () => {
		const line = lineOf('rewards/steps.reward.ts', 'return right / needed');
		await steps.setLine(line, 'return found.length > 3 ? 2 : right / needed / 2;');
		await steps.untilInline(/^4 of 5 cases|^\d of 5 cases failed · 0\.1/);
		await workbench.screenshot('rewards-edited');
	});

	// test/integration/suites/rewards.test.ts covers syntax errors and Python.
	await step('a broken line is marked with the row that made it fail, until it is fixed', async () => {
		const line = lineOf('rewards/steps.reward.ts', 'return found.length > 3');
		await steps.setLine(line, 'return found.nothing.length;');
		await steps.untilInline(new RegExp(`^\\d+ errors on line ${line} · `));
		await workbench.command('Problems: Focus on Problems View');
		const problem = steps.problems().filter({ hasText: `Ln ${line},` });
		await problem.first().waitFor();
		assert.match(
			await problem.first().innerText(),
			/TypeError: .*\(steps on row \d+, correct answer, and \d+ more rows\)/,
		);
		await workbench.screenshot('rewards-broken');
		await steps.setLine(line, 'return right / needed;');
		await steps.untilInline(/^0\.20 ± 0\.40 · gold 100% · 5 cases/);
		await waitUntil(async () => (await steps.problems().count()) === 0, 'no problems are left');
	});

	await step('lines that no row reaches are marked in the gutter', async () => {
		await steps.open();
		const line = lineOf('rewards/steps.reward.ts', "return sign === '-'");
		await steps.setLine(line, "return sign === '/'\n? a / b\n: sign === '-' ? a - b : a * b;");
		await steps.goTo(line);
		await waitUntil(async () => (await steps.unreachedMarks()) > 0, 'a mark is shown');
		// Wait for its image, which comes from the server.
		await page.waitForTimeout(500);
		await workbench.screenshot('rewards-unreached');
	});

	await step('a new reward is written that rewards merely mentioning the answer', async () => {
		await workbench.command('Reasoning Lab: New Reward');
		await workbench.asked('New reward');
		await workbench.quickInput().fill('right');
		await workbench.pick('right.reward.ts');
		await workbench.editorTab(/right\.reward\.ts/).waitFor();
		await right.untilInline(/gold 100% · .*4 cases/);
		lab.write('rewards/right.cases.jsonl', cases.map((one) => `${JSON.stringify(one)}\n`).join(''));
		await right.replaceAll(planted);
		// An editor that loses focus drops its request for lenses.
		await page.keyboard.press('Control+p');
		await workbench.quickInput().waitFor();
		await page.waitForTimeout(500);
		await right.lens('Audit').waitFor();
		await page.keyboard.press('Escape');
		await right.untilInline(/^1 of 2 cases failed · 1\.00 ± 0\.00 · gold 0%/);
	});

	await step('its case fails in the Test Explorer, which shows the expected value', async () => {
		await workbench.command('View: Toggle Panel Visibility');
		await tests.open();
		await tests.runFile();
		await tests.filter('named');
		await tests.test('rewards/right.reward.ts', 'Failed').waitFor();
		await tests.unfold('rewards/right.reward.ts');
		await tests.unfold('right');
		await tests.test('named, not chosen', 'Failed').waitFor();
		await tests.test('named, not chosen', 'Failed').click();
		await tests.peek().filter({ hasText: 'Expected' }).waitFor();
		await workbench.screenshot('rewards-tests-failed');
		await page.keyboard.press('Escape');
	});

	await step('the audit finds the hack, and adds it to the cases', async () => {
		await right.open();
		await right.lens('Audit').click();
		const cause = (frame: Frame) => frame.getByRole('region', { name: 'Rewards lists of candidate answers' });
		const audit = await results('Audit: right', cause);
		await cause(audit).getByRole('button', { name: 'Add to Cases' }).first().click();
		await cause(audit).getByText('Added to right.cases.jsonl, line 3.').waitFor();
		assert.match(
			textOf('rewards/right.cases.jsonl'),
			/\n\{"name":"audit: [^\n]*"reward":"right"[^\n]*"max":0\.99\}\}\n$/,
		);
		await workbench.screenshot('rewards-audit');
	});

	await step('the fix passes the case and clears the findings', async () => {
		await right.open();
		await right.setLine(lineOf('rewards/right.reward.ts', 'return completion.includes'), honest);
		await right.untilInline(/gold 100% · 3 cases/);
		const audit = await results('Audit: right', (frame) => frame.getByRole('button', { name: 'Audit Again' }));
		await audit.getByRole('button', { name: 'Audit Again' }).click();
		await audit.getByText(/^None of the \d+ applicable probes scored as high/).waitFor();
		await workbench.screenshot('rewards-audit-clean');
		await right.open();
		await tests.runFile();
		await tests.test('named, not chosen', 'Passed').waitFor();
		await tests.test('rewards/right.reward.ts', 'Passed').waitFor();
		await workbench.screenshot('rewards-tests-passed');
	});

	await step('a code lens opens its results', async () => {
		await workbench.openSideBar();
		await right.open();
		await right.lens('Results').click();
		await results('Results: right', (frame) => frame.getByText('Correct above incorrect'));
		await workbench.screenshot('rewards-results');
	});

	await step('the selected row is debugged: the debugger stops in the reward once, and ends', async () => {
		await right.open();
		await right.lens('Debug Row').click();
		const third = workbench.quickItems().nth(2);
		await third.waitFor();
		await third.click();
		await page.locator('.debug-toolbar').waitFor();
		await page.locator('.editor-instance .debug-top-stack-frame-line').first().waitFor();
		await workbench.screenshot('rewards-debug');
		await page.keyboard.press('F5');
		await page.locator('.debug-toolbar').waitFor({ state: 'hidden' });
	});

	await step('the reward is added to the recipe, whose comments are kept', async () => {
		const short = [
			['"layers": 3, "width": 96', '"layers": 2, "width": 48'],
			['"steps": 300', '"steps": 20'],
			['"steps": 200', '"steps": 4'],
			['"prompts_per_step": 16', '"prompts_per_step": 4'],
			['"problems": 200', '"problems": 16'],
		] as const;
		let recipe = textOf('starter.recipe.json');
		for (const [from, to] of short) {
			assert.ok(recipe.includes(from), from);
			recipe = recipe.replace(from, to);
		}
		lab.write('starter.recipe.json', recipe);
		await right.open();
		await right.lens('Use in Run').click();
		await waitUntil(async () => (await workbench.quickInput().inputValue()) === '0.1', 'the weight is requested');
		await page.keyboard.press('Enter');
		await workbench.editorTab(/starter\.recipe\.json/).waitFor();
		// The file is briefly empty while it is being saved.
		await waitUntil(() => textOf('starter.recipe.json').includes('right.reward.ts'), 'the recipe is saved');
		assert.equal(
			textOf('starter.recipe.json'),
			recipe.replace(
				/(steps\.reward\.ts".*\})/,
				'$1,\n\t\t{ "file": "rewards/right.reward.ts", "name": "right", "weight": 0.1 }',
			),
		);
		await workbench.screenshot('rewards-used');
	});

	let run = '';
	await step('a run uses it, and the rollouts show its values', async () => {
		run = await lab.startRun(workbench, 120);
		const dashboard = new DashboardPage(await workbench.app('dashboard'));
		await dashboard.status(/finished/);
		await dashboard.action('Rollouts').click();
		const rollouts = new RolloutsPage(await workbench.app('rollouts'));
		await rollouts
			.cards()
			.filter({ hasText: /right −0\.\d+/ })
			.first()
			.waitFor();
		await workbench.screenshot('rewards-rollouts');
	});

	await step('on the last rollouts, the reward reproduces the values that the run recorded', async () => {
		const [first] = readLines<{ rewards: Record<string, number> }>(join(run, 'rollouts/step_000024.jsonl'));
		assert.ok((first?.rewards.right ?? 0) < 0, JSON.stringify(first));
		await right.open();
		await right.lens('On Last Rollouts').click();
		await workbench
			.quickItems()
			.filter({ hasText: /finished/ })
			.waitFor();
		await page.keyboard.press('Enter');
		await right.untilInline(/rollouts: -0\.\d+ ± 0\.\d+.* · matches the run/);
		await workbench.screenshot('rewards-on-rollouts');
	});

	await step('another reward is compared on the same rollouts', async () => {
		await right.lens('Compare').click();
		await workbench.quickItems().filter({ hasText: 'Another reward' }).waitFor();
		await page.keyboard.press('ArrowDown');
		await page.keyboard.press('Enter');
		await workbench.quickItems().filter({ hasText: 'concise' }).waitFor();
		await page.keyboard.press('Enter');
		await workbench
			.quickItems()
			.filter({ hasText: /finished/ })
			.waitFor();
		await page.keyboard.press('Enter');
		await results('Comparison: right', (frame) => frame.getByText('Groups revived'));
		await workbench.screenshot('rewards-comparison');
	});
});
