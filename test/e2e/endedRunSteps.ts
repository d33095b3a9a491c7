import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { TestContext } from 'node:test';
import { inOrder, isAlive, type Laboratory, recordOf, stepsOf, waitUntil } from './laboratory.ts';
import { DashboardPage } from './pages/dashboardPage.ts';
import { RolloutsPage } from './pages/rolloutsPage.ts';
import type { WorkbenchPage } from './pages/workbenchPage.ts';
import { smallRecipe, unhurried } from './smallRecipe.ts';

/** Returns a recipe whose completions have too few tokens to answer, so it goes wrong for real. */
function tightRecipe(): object {
	const recipe = smallRecipe(20_000, 5) as { stages: { type: string }[] };
	const stages = recipe.stages.map((stage) => (stage.type === 'grpo' ? { ...stage, max_completion_length: 4 } : stage));
	return { ...recipe, name: 'tight', stages };
}

const runNamed = (lab: Laboratory, name: string) =>
	lab.runs().find((folder) => basename(folder).startsWith(`${name}-`)) ?? '';

/** Starts a run and kills its engine in the second stage, after a checkpoint. */
export async function prepareCrashedRun(lab: Laboratory): Promise<void> {
	const recipe = lab.write('killed.recipe.json', { ...unhurried(lab, smallRecipe(30, 10)), name: 'killed' });
	assert.equal((await lab.cli('run', recipe, '--detach')).code, 0);
	const crashed = runNamed(lab, 'killed');
	await waitUntil(() => stepsOf(crashed).length > 20, 'the run is in the middle of its second stage');
	const { pid } = recordOf(crashed);
	process.kill(pid, 'SIGKILL');
	await waitUntil(() => !isAlive(pid), 'the engine has exited');
	assert.equal(recordOf(crashed).status, 'running', 'no process was left to write another status');
}

/** @param finished name of a finished run in the workspace */
export async function openEndedRuns(
	t: TestContext,
	lab: Laboratory,
	workbench: WorkbenchPage,
	finished: string,
): Promise<void> {
	const step = inOrder(t);
	await step('the tree shows their states', async () => {
		await workbench.openSideBar();
		await workbench.run(new RegExp(`^${finished}, finished`)).waitFor();
		await workbench.run(/^killed, crashed/).waitFor();
		await workbench.screenshot('ended-runs');
	});

	await step('the finished run opens with its rollouts', async () => {
		await workbench.runAction(new RegExp(`^${finished}`), /Open Dashboard/);
		const page = new DashboardPage(await workbench.app('dashboard'));
		await page.status(/finished/);
		await page.action('Rollouts').click();
		const rollouts = new RolloutsPage(await workbench.app('rollouts'));
		await rollouts.cards().first().waitFor();
		await workbench.command('View: Close All Editors');
	});

	await step('the dashboard reports the crash, and the run finishes once it is resumed', async () => {
		const crashed = runNamed(lab, 'killed');
		await workbench.runAction(/^killed/, /Open Dashboard/);
		const page = new DashboardPage(await workbench.app('dashboard'));
		await page.status(/crashed/);
		const notice = page.frame.getByRole('alert').filter({ hasText: 'The run crashed' });
		await notice.waitFor();
		await workbench.screenshot('crashed-run');
		await notice.getByRole('button', { name: 'Resume' }).click();
		await page.status(/finished/);
		const steps = stepsOf(crashed);
		assert.deepEqual(
			steps,
			Array.from({ length: 40 }, (_, i) => i + 1),
		);
		await page.toggleTable('Loss');
		await waitUntil(async () => (await page.rowCount('Loss')) === steps.length, 'the table has every step');
		assert.deepEqual(await page.tableSteps('Loss'), steps);
	});
}

export async function diagnoseRun(t: TestContext, lab: Laboratory, workbench: WorkbenchPage): Promise<void> {
	const step = inOrder(t);
	await workbench.command('View: Close All Editors');
	await workbench.openSideBar();
	const run = lab.cli('run', lab.write('tight.recipe.json', tightRecipe()));
	const tight = () => runNamed(lab, 'tight');

	await step('the problem is announced once, quietly, with its cause', async () => {
		const said = workbench.announcements().filter({ hasText: /tight: .*(truncated|dead)/ });
		await said.first().waitFor({ state: 'attached' });
		const stop = await lab.cli('stop', tight());
		assert.equal(stop.code, 0, stop.stderr);
		await run;
	});

	const alerts = async () => {
		const frame = await workbench.app('dashboard');
		await frame.locator('[data-alert="overlong"]').waitFor();
		return frame;
	};

	await step('the dashboard lists the problem with numbers and its cause', async () => {
		await workbench.runAction(/^tight/, /Open Dashboard/);
		const frame = await alerts();
		assert.match(await frame.locator('[data-alert="overlong"]').innerText(), /\d+% of the completions .* 4 tokens/);
		await frame.locator('[data-alert="dead-groups:truncated"]').waitFor();
		await workbench.screenshot('diagnosis');
	});

	await step('the recipe line is one click away', async () => {
		const frame = await alerts();
		await frame.locator('[data-alert="overlong"]').getByText('stages[1].max_completion_length').click();
		await workbench.editorTab(/^tight\.recipe\.json/).waitFor();
		const selected = workbench.page.locator('.statusbar').getByText(/Ln \d+, Col \d+ \(\d+ selected\)/);
		const words = await selected.first().innerText();
		const line = Number(/Ln (\d+)/.exec(words)?.[1]);
		const lines = readFileSync(join(lab.workspace, 'tight.recipe.json'), 'utf8').split('\n');
		assert.match(lines[line - 1] ?? '', /"max_completion_length": 4/);
		await workbench.screenshot('diagnosis-recipe');
	});

	await step('the rollouts that show the problem are also one click away', async () => {
		const frame = await alerts();
		await frame
			.locator('[data-alert="dead-groups:truncated"]')
			.getByText(/^step \d+, group \d+/)
			.first()
			.click();
		const page = new RolloutsPage(await workbench.app('rollouts'));
		await page.cards().first().waitFor();
		await workbench.screenshot('diagnosis-rollouts');
	});

	// test/unit/extension/diagnosis/runDiagnosis.test.ts covers that nothing is reported again after a reload.
	await step('a dismissed alert stays dismissed when the dashboard is reopened', async () => {
		await workbench.runAction(/^tight/, /Open Dashboard/);
		const frame = await alerts();
		await frame
			.locator('[data-alert="overlong"]')
			.getByRole('button', { name: /^Dismiss/ })
			.click();
		await frame.getByText('Show 1 dismissed').waitFor();
		await workbench.command('View: Close All Editors');
		await workbench.editorTab(/./).first().waitFor({ state: 'detached' });
		await workbench.openSideBar();
		await workbench.runAction(/^tight/, /Open Dashboard/);
		const again = await workbench.app('dashboard');
		await again.getByText('Show 1 dismissed').waitFor();
		await again.locator('[data-alert="dead-groups:truncated"]').waitFor();
		assert.equal(await again.locator('[data-alert="overlong"]').count(), 0);
		const log = readFileSync(join(tight(), 'annotations/alerts.jsonl'), 'utf8');
		assert.match(log, /"type":"dismissed"/);
	});
}
