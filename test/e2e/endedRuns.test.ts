// @reaches engine dashboard
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { skip } from '../support/chromium.ts';
import { inOrder, isAlive, Laboratory, recordOf, stepsOf, waitUntil } from './laboratory.ts';
import { DashboardPage } from './pages/dashboardPage.ts';
import { RolloutsPage } from './pages/rolloutsPage.ts';
import { smallRecipe } from './smallRecipe.ts';

test('a finished and a crashed run are opened by the same views', { skip }, async (t) => {
	const lab = await Laboratory.open(t, 'ended-runs');
	const step = inOrder(t);
	let finished = '';
	let crashed = '';

	await step('one run finishes, another is killed', async () => {
		const whole = lab.write('whole.recipe.json', { ...smallRecipe(20), name: 'whole' });
		const killed = lab.write('killed.recipe.json', { ...smallRecipe(60), name: 'killed' });
		const { code, stderr } = await lab.cli('run', whole);
		assert.equal(code, 0, stderr);
		[finished = ''] = lab.runs();
		assert.equal((await lab.cli('run', killed, '--detach')).code, 0);
		crashed = lab.runs()[1] ?? '';
		await waitUntil(() => stepsOf(crashed).length > 70, 'it is in the middle of its second stage');
		const { pid } = recordOf(crashed);
		process.kill(pid, 'SIGKILL');
		await waitUntil(() => !isAlive(pid), 'the engine is gone');
		assert.equal(recordOf(crashed).status, 'running', 'nobody was left to write another status');
	});

	const workbench = await lab.workbench();

	await step('the tree tells their states', async () => {
		await workbench.openSideBar();
		await workbench.run(/^whole, finished/).waitFor();
		await workbench.run(/^killed, crashed/).waitFor();
		await workbench.screenshot('ended-runs');
	});

	await step('the finished run shows all of its steps and rollouts', async () => {
		await workbench.runAction(/^whole/, /Open Dashboard/);
		const page = new DashboardPage(await workbench.app('dashboard'));
		await page.status(/finished/);
		await page.toggleTable('Loss');
		assert.deepEqual(await page.tableSteps('Loss'), stepsOf(finished));
		assert.equal(stepsOf(finished).length, 80);
		await page.toggleTable('Loss');
		await page.action('Rollouts').click();
		const rollouts = new RolloutsPage(await workbench.app('rollouts'));
		await rollouts.cards().first().waitFor();
		await workbench.page.keyboard.press('Control+k');
		await workbench.page.keyboard.press('Control+w');
	});

	await step('the crashed run says so, and goes on to its end where it is resumed', async () => {
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
			Array.from({ length: 120 }, (_, i) => i + 1),
		);
		await page.toggleTable('Loss');
		await waitUntil(async () => (await page.rowCount('Loss')) === steps.length, 'the table has every step');
		assert.deepEqual(await page.tableSteps('Loss'), steps);
	});
});
