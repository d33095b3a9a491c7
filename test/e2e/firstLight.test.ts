// @reaches extension engine dashboard
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { skip } from '../support/chromium.ts';
import { inOrder, isAlive, Laboratory, readLines, recordOf, stepsOf, waitUntil } from './laboratory.ts';
import { DashboardPage } from './pages/dashboardPage.ts';
import { RolloutsPage } from './pages/rolloutsPage.ts';
import { demoRecipe, smallRecipe, unhurried } from './smallRecipe.ts';

interface Rollout {
	readonly group: number;
	readonly index: number;
	readonly completion: string;
}

test('trains with GRPO, watches the run and reads its rollouts through a reload and a resume', { skip }, async (t) => {
	const lab = await Laboratory.open(t, 'first-light');
	lab.write(demoRecipe, unhurried(lab, smallRecipe(20_000)));
	const workbench = await lab.workbench();
	const dashboard = async () => new DashboardPage(await workbench.app('dashboard'));
	let run = '';
	let engine = 0;
	const step = inOrder(t);

	await step('the demo starts from the command palette and opens its dashboard', async () => {
		await workbench.command('Reasoning Lab: Start Demo Run');
		await (await dashboard()).status(/running/);
		[run = ''] = lab.runs();
		engine = recordOf(run).pid;
		assert.ok(isAlive(engine));
	});

	await step('the reward curve moves', async () => {
		const page = await dashboard();
		const reward = page.legend('Reward');
		await reward.filter({ hasText: /\d/ }).waitFor();
		const seen = new Set<string>();
		await waitUntil(async () => seen.add(await reward.innerText()).size >= 4, 'the reward has shown four values');
		await page.toggleTable('Reward');
		const rows = await page.rowCount('Reward');
		await waitUntil(async () => (await page.rowCount('Reward')) > rows + 5, 'more steps are shown');
		await page.toggleTable('Reward');
		await workbench.screenshot('dashboard-live');
	});

	await step('a group shows the think and answer text behind every reward', async () => {
		await (await dashboard()).action('Rollouts').click();
		const page = new RolloutsPage(await workbench.app('rollouts'));
		await page.groups().nth(2).click();
		// The panel must stay at this step from here on, so as not to disturb the reader.
		const open = await page.openStep();
		const file = join(run, 'rollouts', `step_${String(open).padStart(6, '0')}.jsonl`);
		const group = readLines<Rollout>(file).filter((rollout) => rollout.group === 2);
		// Identical completions share one card.
		const distinct = [...new Map(group.toReversed().map((rollout) => [rollout.completion, rollout])).values()];
		await waitUntil(async () => (await page.cards().count()) === distinct.length, 'the group is shown');
		for (const { index, completion } of distinct.slice(-2)) {
			const text = page.frame.locator(`.card[data-index="${index}"] .block-text`);
			const shown = async () => (await text.allInnerTexts()).join('').replaceAll(/\s/g, '');
			await waitUntil(async () => (await shown()) === completion.replaceAll(/\s/g, ''), `the card shows ${completion}`);
		}
		await page.frame.getByText('Thinking', { exact: true }).first().waitFor();
		await page.frame.getByText('Answer', { exact: true }).first().waitFor();
		await waitUntil(() => stepsOf(run).length > open + 3, 'the run continues in the meantime');
		assert.equal(await page.openStep(), open);
		await workbench.screenshot('rollouts-live');
	});

	await step('Pause pauses the run, and Continue resumes it', async () => {
		await workbench.editorTab(/^addition/).click();
		const page = await dashboard();
		await page.action('Pause').click();
		await page.status(/paused/);
		assert.equal(recordOf(run).status, 'paused');
		const held = stepsOf(run).length;
		await new Promise((resolve) => setTimeout(resolve, 1500));
		assert.equal(stepsOf(run).length, held);
		await page.action('Continue').click();
		await page.status(/running/);
		await waitUntil(() => stepsOf(run).length > held, 'the run makes steps again');
	});

	await step('the engine survives a reload, and the dashboard then shows every step once', async () => {
		const before = recordOf(run).step;
		await workbench.reload();
		assert.ok(isAlive(engine));
		const page = await dashboard();
		await page.status(/running/);
		await waitUntil(() => recordOf(run).step > before + 8, 'more steps are done');
		assert.equal(recordOf(run).pid, engine);
		await page.action('Pause').click();
		await page.status(/paused/);
		const written = stepsOf(run);
		assert.deepEqual(written, upTo(written.length));
		await page.toggleTable('Loss');
		await waitUntil(async () => (await page.rowCount('Loss')) === written.length, 'the table has every step');
		assert.deepEqual(await page.tableSteps('Loss'), written);
		await page.toggleTable('Loss');
	});

	await step('Stop ends the engine with a checkpoint', async () => {
		const page = await dashboard();
		await page.action('Stop').click();
		await page.status(/stopped/);
		await waitUntil(() => !isAlive(engine), 'the engine has exited');
	});

	await step('Resume continues the same run without repeating a step', async () => {
		const before = recordOf(run).step;
		const page = await dashboard();
		await page.action('Resume').click();
		await page.status(/running/);
		await waitUntil(() => recordOf(run).step > before, 'the resumed run makes steps');
		assert.equal(recordOf(run).attempt, 2);
		await page.action('Stop').click();
		await page.status(/stopped/);
		const steps = stepsOf(run);
		assert.deepEqual(steps, upTo(steps.length));
		await page.toggleTable('Loss');
		await waitUntil(async () => (await page.rowCount('Loss')) === steps.length, 'the table has every step');
		assert.deepEqual(await page.tableSteps('Loss'), steps);
		await page.toggleTable('Loss');
	});

	await step('resuming from a checkpoint creates a new run with a parent', async () => {
		await workbench.command('Reasoning Lab: Resume from Checkpoint');
		await workbench.asked(/as a new run$/);
		// Oldest run.
		await workbench
			.quickItems()
			.filter({ hasText: /Step \d+/ })
			.last()
			.click();
		await waitUntil(() => lab.runs().length === 2, 'a second run exists');
		const branch = lab.runs()[1] ?? '';
		await waitUntil(() => stepsOf(branch).length > 3, 'the second run makes steps');
		const { parent } = recordOf(branch);
		assert.equal(parent?.run, recordOf(run).id);
		assert.equal((await lab.cli('stop', branch)).code, 0);
		await workbench.openSideBar();
		await workbench
			.run(/^addition.*stopped/)
			.nth(1)
			.waitFor();
		await workbench.screenshot('runs');
	});
});

function upTo(count: number): number[] {
	return Array.from({ length: count }, (_, i) => i + 1);
}
