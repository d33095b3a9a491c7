/** Starts, watches and stops a Ray recipe from the workbench, on a cluster on this machine. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inOrder, Laboratory, recordOf, stepsOf, waitUntil } from '../e2e/laboratory.ts';
import { DashboardPage } from '../e2e/pages/dashboardPage.ts';
import { pytorchRecipe } from '../e2e/smallRecipe.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { skip as noBrowser } from '../support/chromium.ts';
import { type RayCluster, startRayCluster } from '../support/rayCluster.ts';

const found = await findTestPython(console.log);
const python = 'python' in found ? found.python : '';
const skip = noBrowser || ('missing' in found && process.env.CI === undefined ? found.missing : false);

/** Importing torch for the first time in a process is slow on a busy machine. */
const patience = 180;

test('a Ray cluster recipe runs from the editor', { skip }, async (t) => {
	const cluster = { opened: null as RayCluster | null };
	t.after(() => cluster.opened?.stop());
	const lab = await Laboratory.open(t, 'ray-runs', {
		env: { REASONING_LAB_TORCH_PYTHON: undefined, OMP_NUM_THREADS: '1' },
		settings: { 'reasoningLab.pytorch.python': python },
	});
	const step = inOrder(t);
	const workbench = await lab.workbench();
	const dashboard = async () => new DashboardPage(await workbench.app('dashboard'));

	await step('the run is submitted as a job, followed and stopped', async () => {
		cluster.opened = await startRayCluster({ python });
		const { address } = cluster.opened;
		lab.write('cluster.recipe.json', pytorchRecipe('cluster', 20_000, { engine: 'ray', ray: { address } }));
		await workbench.openFile('cluster.recipe.json');
		await workbench.command('Reasoning Lab: Start Run');
		await waitUntil(() => lab.runs().length === 1, 'the run has a folder', patience);
		const job = lab.runs()[0] ?? '';
		await waitUntil(() => stepsOf(job).length > 2, 'the steps of the job are mirrored', patience);
		assert.equal(recordOf(job).engine, 'ray');
		await workbench.openSideBar();
		await workbench
			.run(/^cluster, /)
			.first()
			.waitFor();
		await workbench.runAction(/^cluster, /, /Open Dashboard/);
		const page = await dashboard();
		await page.status(/running/);
		await workbench.screenshot('ray-dashboard');
		await workbench.runAction(/^cluster, /, /Stop/);
		await workbench
			.run(/^cluster, .*stopped/)
			.first()
			.waitFor({ timeout: patience * 1000 });
		await waitUntil(
			async () => {
				const jobs = (await (await fetch(`${address}/api/jobs/`)).json()) as { status: string }[];
				return jobs.every(({ status }) => status !== 'RUNNING' && status !== 'PENDING');
			},
			'no job is still running on the cluster',
			patience,
		);
	});
});
