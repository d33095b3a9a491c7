// @reaches driver trainer
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { skip as noBrowser } from '../support/chromium.ts';
import { inOrder, isAlive, Laboratory, readLines, recordOf, stepsOf, waitUntil } from './laboratory.ts';
import { DashboardPage } from './pages/dashboardPage.ts';
import { RolloutsPage } from './pages/rolloutsPage.ts';
import { pytorchRecipe, unhurried } from './smallRecipe.ts';

const found = await findTestPython(console.log);
const python = 'python' in found ? found.python : '';
const skip = noBrowser || ('missing' in found && process.env.CI === undefined ? found.missing : false);

/** Importing torch for the first time in a process is slow on a busy machine. */
const patience = 180;

test('PyTorch engine recipes run from the editor', { skip }, async (t) => {
	const lab = await Laboratory.open(t, 'pytorch-runs', {
		env: { REASONING_LAB_TORCH_PYTHON: undefined, OMP_NUM_THREADS: '1' },
	});
	const step = inOrder(t);
	lab.write('torch.recipe.json', unhurried(lab, pytorchRecipe('torch', 20_000, { engine: 'pytorch' })));
	const workbench = await lab.workbench();
	const dashboard = async () => new DashboardPage(await workbench.app('dashboard'));
	let run = '';

	await step('without an environment, starting a run offers to set one up', async () => {
		await workbench.openFile('torch.recipe.json');
		await workbench.command('Reasoning Lab: Start Run');
		await workbench
			.announcements()
			.filter({ hasText: /Set Up PyTorch Engine|no PyTorch/i })
			.first()
			.waitFor();
		assert.deepEqual(lab.runs(), [], 'nothing was started');
	});

	await step('Doctor reports what is installed and what to do', async () => {
		lab.write('.vscode/settings.json', { 'reasoningLab.pytorch.python': python });
		const rendered = workbench.page
			.frameLocator('iframe.webview.ready:visible')
			.last()
			.frameLocator('iframe#active-frame');
		// The changed setting takes time to arrive. Wait for each report before requesting another, or it would cover
		// whatever is opened next.
		await waitUntil(
			async () => {
				await workbench.command('Reasoning Lab: Doctor');
				await (await workbench.preview('PyTorch engine')).waitFor({ timeout: patience * 1000 });
				if (await rendered.getByRole('row', { name: /^TRL ok/ }).isVisible()) return true;
				await workbench.command('View: Close All Editors');
				return false;
			},
			'Doctor has found TRL',
			patience,
		);
		await workbench.screenshot('doctor');
	});

	await step('a PyTorch engine recipe starts from the palette, and the dashboard follows the run', async () => {
		await workbench.openFile('torch.recipe.json');
		await workbench.command('Reasoning Lab: Start Run');
		await waitUntil(() => lab.runs().length === 1, 'the run has a folder', patience);
		[run = ''] = lab.runs();
		await waitUntil(() => stepsOf(run).length > 3, 'the run makes steps', patience);
		assert.equal(recordOf(run).engine, 'pytorch');
		const page = await dashboard();
		await page.status(/running/);
		await page.legend('Reward').filter({ hasText: /\d/ }).waitFor();
		await page.card('Time per phase').waitFor();
		await workbench.screenshot('pytorch-dashboard');
	});

	await step('the run pauses, shows rollouts with their tokens, and continues', async () => {
		const page = await dashboard();
		await page.action('Pause').click();
		await page.status(/paused/);
		await page.action('Rollouts').click();
		const rollouts = new RolloutsPage(await workbench.app('rollouts'));
		await rollouts.cards().first().waitFor();
		const file = join(run, 'rollouts', `step_${String(await rollouts.openStep()).padStart(6, '0')}.jsonl`);
		const lines = readLines<{ group: number; tokens?: { logprob: number[] } }>(file);
		assert.deepEqual([...new Set(lines.map(({ group }) => group))].length, 2, 'the step has all groups of the batch');
		assert.ok(
			lines.every(({ tokens }) => (tokens?.logprob.length ?? 0) > 0),
			'all rollouts have log-probabilities',
		);
		await workbench.screenshot('pytorch-rollouts');
		await workbench.runAction(/^torch, /, /Open Dashboard/);
		await (await dashboard()).action('Continue').click();
		await (await dashboard()).status(/running/);
	});

	await step('Stop writes a checkpoint, and Resume continues from it', async () => {
		const { pid } = recordOf(run);
		await (await dashboard()).action('Stop').click();
		await (await dashboard()).status(/stopped/);
		await waitUntil(() => !isAlive(pid), 'the engine has exited');
		const { step: stopped } = recordOf(run);
		await (await dashboard()).action('Resume').click();
		await waitUntil(() => recordOf(run).step > stopped, 'the resumed run makes steps', patience);
		assert.equal(recordOf(run).attempt, 2);
		await (await dashboard()).action('Stop').click();
		await (await dashboard()).status(/stopped/);
		const steps = stepsOf(run);
		assert.deepEqual(
			steps.filter((one) => one > 0),
			Array.from({ length: steps.at(-1) ?? 0 }, (_, i) => i + 1),
			'no step is missing or duplicated',
		);
	});
});
