// @reaches engine dashboard
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { skip } from '../support/chromium.ts';
import { inOrder, isAlive, Laboratory, recordOf, stepsOf, waitUntil } from './laboratory.ts';
import { DashboardPage } from './pages/dashboardPage.ts';
import { RolloutsPage } from './pages/rolloutsPage.ts';
import { smallRecipe } from './smallRecipe.ts';

/** Returns a recipe whose completions have too few tokens to answer, so it goes wrong for real. */
function tightRecipe(): object {
	const recipe = smallRecipe(20_000) as { stages: { type: string }[] };
	const stages = recipe.stages.map((stage) => (stage.type === 'grpo' ? { ...stage, max_completion_length: 4 } : stage));
	return { ...recipe, name: 'tight', stages };
}

test('runs that finish, crash or go wrong', { skip }, async (t) => {
	const lab = await Laboratory.open(t, 'ended-runs');
	let finished = '';
	let crashed = '';

	await inOrder(t)('one run finishes, another is killed', async () => {
		const whole = lab.write('whole.recipe.json', { ...smallRecipe(20, 20), name: 'whole' });
		const killed = lab.write('killed.recipe.json', { ...smallRecipe(60, 20), name: 'killed' });
		const { code, stderr } = await lab.cli('run', whole);
		assert.equal(code, 0, stderr);
		[finished = ''] = lab.runs();
		assert.equal((await lab.cli('run', killed, '--detach')).code, 0);
		crashed = lab.runs()[1] ?? '';
		await waitUntil(() => stepsOf(crashed).length > 30, 'it is in the middle of its second stage');
		const { pid } = recordOf(crashed);
		process.kill(pid, 'SIGKILL');
		await waitUntil(() => !isAlive(pid), 'the engine is gone');
		assert.equal(recordOf(crashed).status, 'running', 'nobody was left to write another status');
	});

	const workbench = await lab.workbench();

	await t.test('a finished run and a crashed run open in the same views', async (t) => {
		const step = inOrder(t);
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
			assert.equal(stepsOf(finished).length, 40);
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
				Array.from({ length: 80 }, (_, i) => i + 1),
			);
			await page.toggleTable('Loss');
			await waitUntil(async () => (await page.rowCount('Loss')) === steps.length, 'the table has every step');
			assert.deepEqual(await page.tableSteps('Loss'), steps);
		});
	});

	await t.test('a failing run is diagnosed while it trains', async (t) => {
		const step = inOrder(t);
		await workbench.command('View: Close All Editors');
		await workbench.openSideBar();
		const run = lab.cli('run', lab.write('tight.recipe.json', tightRecipe()));
		const tight = () => lab.runs().find((folder) => basename(folder).startsWith('tight')) ?? '';

		await step('it is said once, quietly, with what it is', async () => {
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

		await step('the dashboard lists it, with numbers and cause', async () => {
			await workbench.runAction(/^tight/, /Open Dashboard/);
			const frame = await alerts();
			assert.match(await frame.locator('[data-alert="overlong"]').innerText(), /\d+% of the completions .* 4 tokens/);
			await frame.locator('[data-alert="dead-groups:truncated"]').waitFor();
			await workbench.screenshot('diagnosis');
		});

		await step('the line of the recipe is one click away', async () => {
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

		await step('so are the rollouts that show it', async () => {
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

		// test/unit/extension/diagnosis/runDiagnosis.test.ts covers that nothing is said again after a reload.
		await step('what is dismissed stays so when the dashboard is opened again', async () => {
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
	});
});
