/**
 * A run on a software GPU in the workbench: its dashboard names provider and adapter and charts transfers to and from the
 * device, and Doctor lists the devices. Keeps screenshots.
 */
// @reaches engine dashboard
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inOrder, Laboratory } from '../e2e/laboratory.ts';
import { DashboardPage } from '../e2e/pages/dashboardPage.ts';
import { skip as noBrowser } from '../support/chromium.ts';
import { skip as noGpu } from '../support/softwareGpu.ts';
import { shortRecipe } from '../unit/engines/embedded/engineProcess.ts';

/** Name of the software GPU. */
const adapter = 'SwiftShader Device (Subzero)';

test('a run on a GPU in the workbench', { skip: noBrowser || noGpu, timeout: 1_200_000 }, async (t) => {
	const lab = await Laboratory.open(t, 'gpu');
	lab.write('gpu.recipe.json', { ...shortRecipe, name: 'gpu', device: 'webgpu' });
	const workbench = await lab.workbench();
	const step = inOrder(t);

	await step('the dashboard names provider and adapter, and charts transfers to and from the device', async () => {
		await workbench.openFile('gpu.recipe.json');
		await lab.startRun(workbench, 600);
		const frame = await workbench.app('dashboard');
		const dashboard = new DashboardPage(frame);
		await dashboard.status(/finished/);
		const device = frame.locator('.fact').filter({ hasText: /^Device/ });
		assert.equal(await device.textContent(), `Devicewebgpu on ${adapter}`);
		await device.hover();
		await frame.getByText('The device that the engine runs on.').waitFor();
		await frame.getByText(`Adapter: ${adapter}.`).waitFor();
		await workbench.screenshot('gpu-device');
		await dashboard.card('Bytes to and from the device').scrollIntoViewIfNeeded();
		await workbench.screenshot('gpu-transfers');
	});

	await step(
		'Doctor reports that WebGPU results match the CPU, on which adapter, and why CUDA is unavailable',
		async () => {
			await workbench.command('Reasoning Lab: Doctor');
			const report = workbench.page
				.frameLocator('iframe.webview.ready:visible')
				.last()
				.frameLocator('iframe#active-frame');
			const webgpu = report.getByRole('row', {
				name: `Embedded: WebGPU ok results match the CPU; adapter: ${adapter}`,
			});
			await webgpu.waitFor({ timeout: 180_000 });
			await report.getByRole('row', { name: /^Embedded: CUDA/ }).scrollIntoViewIfNeeded();
			await workbench.screenshot('gpu-doctor');
		},
	);
});
