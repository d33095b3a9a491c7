import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Frame } from 'playwright-core';
import { enginesUnder, inOrder, type Laboratory, readLines, waitUntil } from './laboratory.ts';
import type { WorkbenchPage } from './pages/workbenchPage.ts';
import { smallRecipe } from './smallRecipe.ts';

/** Trains the run that the playground queries, and writes the reward whose case is saved. */
export async function preparePlayground(lab: Laboratory): Promise<void> {
	const evaluate = { every: 35, problems: 16 };
	const recipe = lab.write('addition.recipe.json', { ...smallRecipe(10), evaluate });
	const { code, stderr } = await lab.cli('run', recipe);
	assert.equal(code, 0, stderr);
	const reward = 'export const brief = ({ completions }: { completions: string[] }) => completions.map(() => 1);\n';
	lab.write('brief.reward.ts', reward);
}

export async function usePlayground(t: TestContext, lab: Laboratory, workbench: WorkbenchPage): Promise<void> {
	const step = inOrder(t);
	const { page } = workbench;
	let view: Frame;
	const answered = (n: number) =>
		waitUntil(async () => (await view.locator('.history-row').count()) === n, `${n} exchanges`);
	const finished = () => view.locator('.side-name [role=status]', { hasText: 'tokens/s' }).first().waitFor();
	const button = (name: string) => view.getByRole('button', { name, exact: true });

	await step('the playground opens empty from the palette', async () => {
		await workbench.command('Open Playground');
		view = await workbench.app('playground');
		await view.getByText('No policy yet').waitFor();
		await workbench.screenshot('playground-empty');
	});

	await step('a checkpoint answers after it is opened from the row of its run', async () => {
		await workbench.openSideBar();
		await workbench.runMenu(workbench.run(/^addition/), 'Try in Playground');
		await workbench.asked('in the playground');
		await workbench.screenshot('playground-checkpoint');
		await workbench.pick('best');
		await waitUntil(async () => {
			view = await workbench.app('playground');
			return (await view.locator('.policy', { hasText: 'addition, step' }).count()) === 1;
		}, 'the policy is listed');
		await view.getByRole('textbox', { name: 'Question', exact: true }).fill('3+4=');
		await view.getByRole('textbox', { name: /^Expected answer/ }).fill('7');
		await page.keyboard.press('Control+Enter');
		await answered(1);
		await finished();
		await view
			.locator('.badge', { hasText: /Correct|Incorrect/ })
			.first()
			.waitFor();
		assert.match(await view.locator('.rewards').first().innerText(), /accuracy [01][\s\S]*format/);
		await workbench.screenshot('playground-answer');
	});

	await step('another token is chosen, and the branch point is opened again', async () => {
		await button('Tokens').click();
		await view.locator('.token').nth(1).click();
		const other = view.locator('button.alternative').first();
		await other.waitFor();
		await workbench.screenshot('playground-tokens');
		await other.click();
		await answered(2);
		await finished();
		await workbench.screenshot('playground-branch');
		await button('Back to Branch Point').click();
		await view.locator('.history-row').first().and(view.locator('[aria-current]')).waitFor();
		await button('Text').click();
	});

	await step('two checkpoints are compared', async () => {
		await button('Compare with…').click();
		await workbench.asked('second policy');
		await workbench.pick('step 60');
		await view.locator('.policy', { hasText: 'step 60' }).waitFor();
		await view.getByRole('textbox', { name: 'Question', exact: true }).press('Control+Enter');
		await answered(3);
		await waitUntil(
			async () => (await view.locator('.badge', { hasText: /Correct|Incorrect/ }).count()) === 2,
			'both completions are checked',
		);
		await workbench.screenshot('playground-compare');
	});

	await step('a completion becomes a case that verification reads', async () => {
		await button('Save as Case').first().click();
		await workbench.asked('Save as Case (1/2)');
		await workbench.pick(/Correct/);
		await workbench.asked('Save as Case (2/2)');
		await workbench.pick('brief.cases.jsonl');
		const file = join(lab.workspace, 'brief.cases.jsonl');
		await waitUntil(() => readLines(file).length === 1, 'the case is saved');
		const [made] = readLines<{ prompt: string; answer: string; expect: number }>(file);
		assert.deepEqual([made?.prompt, made?.answer, made?.expect], ['3+4=', '7', 1]);
	});

	await step('the playground keeps its history and still answers in another theme', async () => {
		await lab.setTheme(workbench, 'hc-light');
		view = await workbench.app('playground');
		await view.locator('.side').nth(1).waitFor();
		await answered(3);
		await workbench.screenshot('playground-hc-light');
		await view.getByRole('textbox', { name: 'Question', exact: true }).press('Control+Enter');
		await answered(4);
		await finished();
	});

	await step('closing the playground ends the engines that served it', async () => {
		assert.ok(enginesUnder(lab.workspace).length > 0, 'checkpoints are served');
		await workbench.command('View: Close All Editors');
		await waitUntil(() => enginesUnder(lab.workspace).length === 0, 'the engines have exited');
	});
}
