/**
 * Environments in the workbench: a new one is verified and broken, an episode is played by hand and replayed, a policy
 * is trained on turns with rewards and plays in a verification, and its episodes are opened, searched and compared. Set
 * TEST_PICTURES to keep dark, light and narrow screenshots.
 */
// @reaches engine dashboard rollouts search newSearch strategies episode
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Frame } from 'playwright-core';
import { bodyKinds, overflow, violations } from '../e2e/accessibility.ts';
import { inOrder, Laboratory } from '../e2e/laboratory.ts';
import { DashboardPage } from '../e2e/pages/dashboardPage.ts';
import { RewardPage } from '../e2e/pages/rewardPage.ts';
import { RolloutsPage } from '../e2e/pages/rolloutsPage.ts';
import type { AppName } from '../e2e/pages/workbenchPage.ts';
import { skip } from '../support/chromium.ts';
import { type LightsGame, lightsEnvironment, lightsRecipe, lightsRow } from './lights.ts';

const game: LightsGame = { turns: 3, right: { a: 'a', b: 'b', c: 'c' }, end: 'The end.' };

const rows = Array.from({ length: 27 }, (_, i) => {
	const lights = [i % 3, Math.floor(i / 3) % 3, Math.floor(i / 9)].map((place) => 'abc'.charAt(place));
	return lightsRow(game, `${i + 1}`, lights.join(''));
});

const recipe = {
	...{ name: 'lights', seed: 1, ...lightsRecipe(game, 0.2) },
	model: { layers: 1, width: 32, heads: 2 },
	checkpoint: { every: 10 },
	stages: [
		{
			...{ type: 'sft', steps: 150, learning_rate: 5e-3, batch_size: 16 },
			demonstrations: { gold: 0.3, maxTurns: game.turns },
		},
		{
			...{ type: 'grpo', steps: 10, learning_rate: 2e-3, prompts_per_step: 2, num_generations: 4 },
			...{ max_completion_length: 80, credit_assignment: 'turn' },
		},
	],
};

test('environments in the workbench', { skip, timeout: 1_200_000 }, async (t) => {
	const lab = await Laboratory.open(t, 'environments');
	lab.write('lights.env.ts', lightsEnvironment(game));
	lab.write('lights.rows.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'));
	lab.write('lights.recipe.json', recipe);
	const workbench = await lab.workbench();
	const { page } = workbench;
	const step = inOrder(t);

	/** Takes dark, light and narrow screenshots of a panel, and checks each. */
	async function looks(name: string, app: AppName, shown: (frame: Frame) => Promise<void>): Promise<void> {
		for (const kind of ['vs-dark', 'vs'] as const) {
			await lab.setTheme(workbench, kind);
			const frame = await workbench.app(app);
			await frame.locator(`body[data-vscode-theme-kind="${bodyKinds[kind]}"]`).waitFor();
			await shown(frame);
			await workbench.screenshot(`${name}-${kind}`);
			assert.deepEqual(await violations(frame, kind === 'vs' ? 'contrast' : 'all'), []);
		}
		await lab.setTheme(workbench, 'vs-dark');
		await page.setViewportSize({ width: 640, height: 900 });
		await workbench.closeSideBar();
		const frame = await workbench.app(app);
		await shown(frame);
		await workbench.screenshot(`${name}-narrow`);
		const wider = await overflow(frame);
		assert.ok(wider <= 0, `${name} is ${wider} px wider than its panel`);
		await page.setViewportSize({ width: 1400, height: 900 });
		await workbench.openSideBar();
	}

	await step('a new environment is verified, and a broken one is marked at its line', async () => {
		await workbench.command('Reasoning Lab: New Environment');
		await workbench.pick('Number guessing');
		await workbench.pick('TypeScript');
		await workbench.type('guess');
		const file = new RewardPage(workbench, 'guess.env.ts');
		await workbench.editorTab(/guess\.env\.ts/).waitFor();
		await file.untilInline(/setup ok.*gold \d+ \/ \d+/);
		await workbench.screenshot('environment-new');
		const lines = readFileSync(join(lab.workspace, 'environments/guess.env.ts'), 'utf8').split('\n');
		const line = lines.findIndex((text) => text.includes('getReward()')) + 2;
		await file.setLine(line, 'return 1;');
		await file.untilInline(/errors?/);
		await file.goTo(line);
		await page.locator('.editor-instance .squiggly-error').first().waitFor();
		await workbench.screenshot('environment-broken');
		await file.setLine(line, lines[line - 1]?.trim() ?? '');
		await file.untilInline(/turn$/);
	});

	await step('an episode is played by hand and replayed, and its turns have rewards', async () => {
		const file = new RewardPage(workbench, 'lights.env.ts');
		await file.open();
		await file.lens('Step Through').click();
		const frame = await workbench.app('episode');
		await frame.getByRole('button', { name: 'Reset', exact: true }).first().click();
		for (const button of ['a', 'b', 'c']) {
			await frame
				.getByLabel(/^button/)
				.first()
				.selectOption({ label: button });
			await frame.getByRole('button', { name: 'Send', exact: true }).click();
			await frame.locator('.turns .turn-reward').nth('abc'.indexOf(button)).waitFor();
		}
		await frame.getByRole('button', { name: 'Get Reward' }).click();
		await frame.locator('.outcome', { hasText: /reward \d/ }).waitFor();
		await frame.getByText('Row 1', { exact: true }).first().waitFor();
		await frame.locator('body').press('Home');
		await frame.getByRole('button', { name: 'Play', exact: true }).click();
		await frame.getByText('The end.').first().waitFor();
		await looks('episode', 'episode', (shown) => shown.locator('.turn-reward').first().waitFor());
	});

	await step('a policy is trained on turn rewards, and its rollouts show them', async () => {
		await workbench.openFile('lights.recipe.json');
		await lab.startRun(workbench, 240);
		const dashboard = new DashboardPage(await workbench.app('dashboard'));
		await dashboard.status(/finished/);
		await dashboard.action('Rollouts').click();
		const rollouts = new RolloutsPage(await workbench.app('rollouts'));
		await rollouts.cards().first().waitFor();
		await looks('episode-rollouts', 'rollouts', (shown) => shown.getByText('press').first().waitFor());
		await (await workbench.app('rollouts'))
			.getByRole('button', { name: /Open the episode/ })
			.first()
			.click();
		const frame = await workbench.app('episode');
		await frame.locator('.turn-reward').first().waitFor();
		await workbench.screenshot('episode-of-rollout');
	});

	await step('the environment is verified with the policy', async () => {
		const file = new RewardPage(workbench, 'lights.env.ts');
		await file.open();
		await file.lens('Verify with Policy').click();
		await workbench.pick(/lights.*best/);
		await file.untilInline(/gold 12 \/ 12 · policy \d\.\d+ \(\d+ \/ 12 solved, [^)]+\)/);
		await workbench.screenshot('environment-policy');
	});

	await step('the search form plays episodes with the policy, and the tree shows their turns', async () => {
		await workbench.command('Reasoning Lab: New Search');
		const form = await workbench.app('newSearch');
		await form.getByLabel('Environment', { exact: true }).waitFor();
		await form.getByLabel('Row', { exact: true }).waitFor();
		await looks('new-search-episodes', 'newSearch', (shown) => shown.getByLabel('Max turns').waitFor());
		await (await workbench.app('newSearch')).getByRole('button', { name: 'Start' }).click();
		const tree = await workbench.app('tree');
		await tree.locator('.state', { hasText: /completed|stopped|answer/ }).waitFor();
		await tree.locator('.tree-stage').focus();
		for (const key of ['Home', 'ArrowRight']) await page.keyboard.press(key);
		await tree.getByRole('tab', { name: 'Node', exact: true }).click();
		await tree.getByText('Turns of an episode cannot be edited').waitFor();
		await workbench.screenshot('episode-tree');
	});

	await step('strategies are compared on episodes', async () => {
		const { code, stderr } = await lab.cli(
			...[
				'compare-strategies',
				'--policy',
				'lights@best',
				'--environment',
				'lights.env.ts',
				'--turns',
				String(game.turns),
			],
			...[
				'--limit',
				'4',
				'--samples',
				'4',
				'--strategy',
				'best-of-n n=2,4',
				'--strategy',
				'mcts simulations=4 choose=value',
			],
			...['--out', 'comparisons/lights'],
		);
		assert.equal(code, 0, stderr);
		await workbench.command('Compare Strategies');
		await workbench.pick(/lights/);
		await looks('strategies-episodes', 'strategies', (shown) => shown.getByRole('table').first().waitFor());
	});
});
