// @reaches dashboard
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { skip } from '../support/chromium.ts';
import { violations } from './accessibility.ts';
import { inOrder, Laboratory } from './laboratory.ts';
import { RolloutsPage } from './pages/rolloutsPage.ts';
import { smallRecipe } from './smallRecipe.ts';

/** A recipe whose completions have no room to answer in: what goes wrong is real. */
function tightRecipe(): object {
	const recipe = smallRecipe(20_000) as { stages: { type: string }[] };
	const stages = recipe.stages.map((stage) => (stage.type === 'grpo' ? { ...stage, max_completion_length: 4 } : stage));
	return { ...recipe, name: 'tight', stages };
}

test('a run that goes wrong is diagnosed while it trains', { skip }, async (t) => {
	const lab = await Laboratory.open(t, 'diagnosis');
	const step = inOrder(t);
	lab.write('tight.recipe.json', tightRecipe());
	const workbench = await lab.workbench();
	await workbench.openSideBar();
	const run = lab.cli('run', join(lab.workspace, 'tight.recipe.json'));

	await step('it is said once, quietly, with what it is', async () => {
		const said = workbench.announcements().filter({ hasText: /tight: .*(cut off|dead)/ });
		await said.first().waitFor({ state: 'attached' });
		const stop = await lab.cli('stop', lab.runs()[0] ?? '');
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
		assert.match(await frame.locator('[data-alert="overlong"]').innerText(), /\d+ % of the completions .* 4 tokens/);
		await frame.locator('[data-alert="dead-groups:truncated"]').waitFor();
		await workbench.screenshot('diagnosis');
		assert.deepEqual(await violations(frame), []);
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

	await step('what is dismissed stays so after a reload, and nothing is said again', async () => {
		await workbench.runAction(/^tight/, /Open Dashboard/);
		const frame = await alerts();
		await frame
			.locator('[data-alert="overlong"]')
			.getByRole('button', { name: /^Dismiss/ })
			.click();
		await frame.getByText('Show 1 dismissed').waitFor();
		await workbench.reload();
		const again = await workbench.app('dashboard');
		await again.getByText('Show 1 dismissed').waitFor();
		await again.locator('[data-alert="dead-groups:truncated"]').waitFor();
		assert.equal(await again.locator('[data-alert="overlong"]').count(), 0);
		await workbench.page.waitForTimeout(2000);
		assert.equal(
			await workbench
				.announcements()
				.filter({ hasText: /tight: .*(cut off|dead)/ })
				.count(),
			0,
		);
		const log = readFileSync(join(lab.runs()[0] ?? '', 'annotations/alerts.jsonl'), 'utf8');
		assert.match(log, /"type":"dismissed"/);
	});
});
