import assert from 'node:assert/strict';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../scripts/paths.ts';
import { skip } from '../support/chromium.ts';
import { inOrder, Laboratory, waitUntil } from './laboratory.ts';
import { RewardPage } from './pages/rewardPage.ts';

test('write rewards: what they do stands behind their signatures', { skip }, async (t) => {
	const lab = await Laboratory.open(t, 'rewards');
	cpSync(join(root, 'media/templates/starter'), lab.workspace, { recursive: true });
	cpSync(join(root, 'media/types/reasoning-lab.d.ts'), join(lab.workspace, 'rewards/reasoning-lab.d.ts'));
	const textOf = (path: string) => readFileSync(join(lab.workspace, path), 'utf8');
	const lineOf = (path: string, text: string) => {
		const line =
			textOf(path)
				.split('\n')
				.findIndex((one) => one.includes(text)) + 1;
		assert.ok(line > 0, `${path} has no ${text}`);
		return line;
	};
	const workbench = await lab.workbench();
	const step = inOrder(t);
	const steps = new RewardPage(workbench, 'steps.reward.ts');
	const concise = new RewardPage(workbench, 'concise.reward.py');

	await step('a TypeScript reward is verified when it is opened', async () => {
		await workbench.openSideBar();
		await steps.open();
		await steps.untilInline(/^0\.20 ± 0\.40 · gold 100 % .*4 cases/);
		for (const title of ['Verify', 'On Last Rollouts', 'Debug a Row', 'Compare', 'Audit', 'Use in a Run', 'Results']) {
			await steps.lens(title).waitFor();
		}
		await workbench.page
			.locator('.sidebar')
			.getByRole('treeitem', { name: /^steps, verified, 0\.20/ })
			.waitFor();
	});

	for (const kind of ['vs-dark', 'vs', 'hc-black', 'hc-light'] as const) {
		await step(`it can be read, ${kind}`, async () => {
			await lab.setTheme(workbench, kind);
			await steps.untilInline(/gold 100 %/);
			await workbench.screenshot(`rewards-${kind}`);
		});
	}
	await lab.setTheme(workbench, 'vs-dark');

	await step('an edit is saved, and the line changes', async () => {
		const line = lineOf('rewards/steps.reward.ts', 'return right.length');
		await steps.setLine(line, 'return found.length > 3 ? 2 : 0.5;');
		await steps.untilInline(/0\.10 ± 0\.20/);
		await workbench.screenshot('rewards-edited');
	});

	await step('a broken line is marked, and the mark goes with the fault', async () => {
		const line = lineOf('rewards/steps.reward.ts', 'return found.length > 3');
		await steps.setLine(line, 'return found.nothing.length;');
		await steps.untilInline(/error/);
		await workbench.command('Problems: Focus on Problems View');
		const problem = steps.problems().filter({ hasText: `Ln ${line},` });
		await problem.first().waitFor();
		assert.match(await problem.first().innerText(), /steps on row \d+/);
		await workbench.screenshot('rewards-broken');
		await steps.setLine(line, 'return right.length / found.length;');
		await steps.untilInline(/^0\.20 ± 0\.40 · gold 100 %/);
		await waitUntil(async () => (await problem.count()) === 0, 'the problem is gone');
	});

	await step('a Python reward is verified, changed and broken alike', async () => {
		await concise.open();
		await concise.untilInline(/^0\.20 ± 0\.40 · gold 100 %/);
		const line = lineOf('rewards/concise.reward.py', 'return min(1.0');
		await concise.setLine(line, 'return 0.5');
		await concise.untilInline(/^1 of 3 cases failed · 0\.10 ± 0\.20/);
		await concise.setLine(line, 'return 1 / (gold == answer)');
		await concise.untilInline(/errors?/);
		const problem = concise.problems().filter({ hasText: `Ln ${line},` });
		await problem.first().waitFor();
		await workbench.screenshot('rewards-python-broken');
		await concise.setLine(line, 'return )');
		await concise.untilInline(new RegExp(`^not verified, line ${line}: `));
		await workbench.screenshot('rewards-python-syntax');
		await concise.setLine(line, 'return min(1.0, max(0.0, (MOST - len(found[1])) / (MOST - FREE)))');
		await concise.untilInline(/^0\.20 ± 0\.40 · gold 100 %/);
		await waitUntil(async () => (await problem.count()) === 0, 'the problem is gone');
	});

	await step('lines that no row reaches are marked in the gutter', async () => {
		await steps.open();
		await steps.setLine(
			lineOf('rewards/steps.reward.ts', "return sign === '-'"),
			"return sign === '/'\n? a / b\n: a * b;",
		);
		await waitUntil(async () => (await steps.unreachedMarks()) > 0, 'a mark is shown');
		await workbench.screenshot('rewards-unreached');
		await steps.undo();
	});

	await step('a reward is put into the recipe by its lens, and its comments stay', async () => {
		await concise.open();
		await concise.lens('Use in a Run').click();
		await workbench.quickInput().waitFor();
		await workbench.page.keyboard.press('Enter');
		await workbench.editorTab(/starter\.recipe\.json/).waitFor();
		await waitUntil(() => textOf('starter.recipe.json').includes('concise.reward.py", "name"'), 'it is saved');
		assert.match(textOf('starter.recipe.json'), /\/\/ Rewards judge every completion/);
		await workbench.screenshot('rewards-used');
	});
});
