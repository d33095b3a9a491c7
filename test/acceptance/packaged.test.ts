/** Tests the packaged extension: its size, its speed, and the demo recipe run from the installed package. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { enginesUnder, isAlive, Laboratory, recordOf, stepsOf, waitUntil } from '../e2e/laboratory.ts';
import { DashboardPage } from '../e2e/pages/dashboardPage.ts';
import { demoRecipe, smallRecipe } from '../e2e/smallRecipe.ts';
import { makePackage } from '../scripts/package.ts';
import { cache } from '../scripts/paths.ts';
import { skip } from '../support/chromium.ts';

const vsix = join(cache, 'acceptance.vsix');

before(async () => {
	await makePackage(`${process.platform}-${process.arch}`, vsix);
});

test('activates in less than 50 ms when there are no runs', { skip }, async (t) => {
	const lab = await Laboratory.open(t, 'activation', { vsix, testDriver: false });
	lab.write('some.recipe.json', '{}');
	const workbench = await lab.workbench({ installed: true });
	const times: number[] = [];
	for (let i = 0; i < 7; i++) {
		if (i > 0) await workbench.reload();
		await workbench.openSideBar();
		await workbench.command('Developer: Show Running Extensions');
		const row = workbench.page
			.locator('.runtime-extensions-editor .monaco-list-row')
			.filter({ hasText: 'Reasoning Lab' });
		const result = row.getByText(/Activation: \d+ms/);
		await result.waitFor();
		times.push(Number(/Activation: (\d+)ms/.exec(await result.innerText())?.[1]));
	}
	console.error(`activation: ${times.join(', ')} ms`);
	const median = times.sort((a, b) => a - b)[3] ?? Number.NaN;
	assert.ok(median < 50, `${median} ms`);
});

test('the demo learns when run from the installed package', { skip }, async (t) => {
	const lab = await Laboratory.open(t, 'installed-demo', { vsix, testDriver: false });
	const workbench = await lab.workbench({ installed: true });
	await workbench.command('Reasoning Lab: Start Demo Run');
	const page = new DashboardPage(await workbench.app('dashboard'));
	await page.status(/running/);
	const [engine] = enginesUnder(lab.server.home);
	assert.ok(engine?.script.startsWith(join(lab.server.home, 'extensions')), engine?.script);
	await page.frame.getByText('grpo', { exact: true }).first().waitFor({ timeout: 300_000 });
	await page
		.legend('Reward')
		.filter({ hasText: /0\.[1-9]/ })
		.waitFor({ timeout: 120_000 });
	await workbench.screenshot('installed-demo');
	await page.action('Stop').click();
	await page.status(/stopped/);
});

test('one notification reports the end of a run, and none after a reload', { skip }, async (t) => {
	// Run without the test driver to get the user's workbench, including notifications.
	const lab = await Laboratory.open(t, 'installed', { vsix, testDriver: false });
	lab.write(demoRecipe, smallRecipe(100));
	const workbench = await lab.workbench({ installed: true });
	const toast = workbench.toasts().filter({ hasText: /addition/ });
	await workbench.command('Reasoning Lab: Start Demo Run');
	await new DashboardPage(await workbench.app('dashboard')).status(/running|finished/);
	const [run = ''] = lab.runs();
	await waitUntil(() => recordOf(run).status === 'finished', 'the run finishes');
	assert.equal(stepsOf(run).length, 160);
	await waitUntil(() => !isAlive(recordOf(run).pid), 'the engine exits');
	await toast.first().waitFor();
	assert.equal(await toast.count(), 1);
	await workbench.screenshot('installed-finished');
	await workbench.reload();
	await new DashboardPage(await workbench.app('dashboard')).status(/finished/);
	await workbench.page.waitForTimeout(2000);
	assert.equal(await toast.count(), 0);
});
