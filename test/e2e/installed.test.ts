// @reaches extension
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { packageIfStale } from '../scripts/package.ts';
import { skip } from '../support/chromium.ts';
import { enginesUnder, inOrder, isAlive, Laboratory, recordOf, stepsOf, waitUntil } from './laboratory.ts';
import { DashboardPage } from './pages/dashboardPage.ts';
import { demoRecipe, smallRecipe } from './smallRecipe.ts';

test('the package installs, and its engine trains from the installed location', { skip }, async (t) => {
	// Run without the test driver to get the user's workbench, including notifications.
	const vsix = await packageIfStale();
	const lab = await Laboratory.open(t, 'installed', { vsix, testDriver: false });
	lab.write(demoRecipe, smallRecipe(100));
	const workbench = await lab.workbench({ installed: true });
	const step = inOrder(t);

	await step('it takes its files from the folder of installed extensions', async () => {
		await workbench.command('Reasoning Lab: Start Demo Run');
		await waitUntil(() => enginesUnder(lab.workspace).length > 0, 'the engine has started');
		const [engine] = enginesUnder(lab.workspace);
		assert.ok(engine?.script.startsWith(join(lab.server.home, 'extensions')), engine?.script);
		await new DashboardPage(await workbench.app('dashboard')).status(/running|finished/);
		const [run = ''] = lab.runs();
		await waitUntil(() => recordOf(run).status === 'finished', 'the run finishes');
		assert.equal(stepsOf(run).length, 160);
		await waitUntil(() => !isAlive(recordOf(run).pid), 'the engine ends');
	});

	await step('one notification tells that the run has ended', async () => {
		const toast = workbench.toasts().filter({ hasText: /addition/ });
		await toast.first().waitFor();
		assert.equal(await toast.count(), 1);
		await workbench.screenshot('installed-finished');
	});

	await step('it says nothing again after a reload', async () => {
		await workbench.reload();
		await new DashboardPage(await workbench.app('dashboard')).status(/finished/);
		await workbench.page.waitForTimeout(2000);
		assert.equal(
			await workbench
				.toasts()
				.filter({ hasText: /addition/ })
				.count(),
			0,
		);
	});
});
