// @reaches extension rewardHost search rolloutIndex
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { commandIds } from '../../src/extension/ids.ts';
import { trustedCommands } from '../../src/extension/trustedCommands.ts';
import { skip } from '../support/chromium.ts';
import { sweepCommands } from './commandSweep.ts';
import { HostDriver } from './hostDriver.ts';
import { HostileWorkspace, notCopies } from './hostileWorkspace.ts';
import { inOrder, Laboratory, waitUntil } from './laboratory.ts';
import { RewardPage } from './pages/rewardPage.ts';
import { RolloutsPage } from './pages/rolloutsPage.ts';

test('an untrusted workspace can be viewed, and nothing in it runs until it is trusted', {
	skip,
}, async (t) => {
	const driver = new HostDriver();
	t.after(() => driver.dispose());
	const lab = await Laboratory.open(t, 'restricted', { restricted: true, extensions: [driver.folder] });
	const hostile = await HostileWorkspace.write(lab.workspace, join(lab.server.home, 'started.txt'));
	t.after(() => hostile.stop());
	const workbench = await lab.workbench();
	const { page } = workbench;
	const sidebar = page.locator('.sidebar');
	const step = inOrder(t);
	await step('runs, pipelines and rewards are listed; the policies in its settings are not', async () => {
		await workbench.openSideBar();
		for (const name of [/^stopped/, /^finished/, /^pipeline story/]) await workbench.run(name).waitFor();
		await sidebar.getByRole('treeitem', { name: /^hostile, not verified/ }).waitFor();
		assert.equal(await driver.run((vscode) => vscode.workspace.isTrusted), false);
		const settings = await driver.run((vscode) =>
			[
				'node.path',
				'rewards.python',
				'research.searchServer',
				'policies',
				'pytorch.python',
				'pytorch.pipArguments',
			].map((name) => vscode.workspace.getConfiguration('reasoningLab').get(name)),
		);
		assert.deepEqual(settings, ['', '', '', [], '', []]);
	});

	await step('a run opens: dashboard and rollouts', async () => {
		await workbench.run(/^finished/).click();
		const dashboard = await workbench.app('dashboard');
		await dashboard.locator('canvas').first().waitFor();
		await workbench.command('Open Rollouts');
		await workbench.pick('finished');
		await new RolloutsPage(await workbench.app('rollouts')).cards().first().waitFor();
	});

	await step('actions that need trust are not offered, and files show what trust would allow', async () => {
		const offered = await workbench.commandsFor('Reasoning Lab: ');
		assert.ok(
			offered.some((title) => title.includes('Compare Runs')),
			offered.join(),
		);
		for (const title of ['Start Run', 'Doctor', 'Verify Reward', 'New Search']) {
			assert.ok(!(await workbench.commandsFor(`Reasoning Lab: ${title}`)).includes(`Reasoning Lab: ${title}`), title);
		}
		await workbench.openFile('hostile.reward.ts');
		await page
			.locator('.codelens-decoration')
			.filter({ hasText: 'Trust this workspace to verify the reward' })
			.waitFor();
		await workbench.openFile('own.recipe.json');
		await page.locator('.codelens-decoration').filter({ hasText: 'Trust this workspace to start the run' }).waitFor();
		hostile.untouched('after files were opened');
	});

	await step('commands that need trust are rejected, and no other command runs anything', async () => {
		const recipe = { file: hostile.path('own.recipe.json') };
		const swept = await sweepCommands(driver, workbench, {
			commands: [...trustedCommands],
			arguments: { recipe: [recipe] },
			milliseconds: 5000,
		});
		for (const { command, notices } of swept) {
			assert.deepEqual(notices.length, 1, command);
			assert.match(notices[0] as string, /not trusted/, command);
		}
		const others = await sweepCommands(driver, workbench, {
			commands: Object.values(commandIds).filter((id) => !trustedCommands.has(id)),
			arguments: { nothing: [] },
			milliseconds: 5000,
		});
		assert.deepEqual(
			others.filter(({ pending }) => pending).map(({ command, given }) => `${command} (${given})`),
			[],
			'calls that did not finish',
		);
		hostile.untouched('after all commands');
		assert.ok(existsSync(hostile.path('runs/stopped/run.json')));
		await driver.run((vscode) => vscode.commands.executeCommand('workbench.action.closeAllEditors'));
	});

	await step('once trusted, its settings apply and its files are run, without a reload', async () => {
		// Settings that name programs would now run them; keep only those that list servers.
		hostile.put('.vscode/settings.json', {
			...notCopies,
			'reasoningLab.policies': [{ ...hostile.policy, kind: undefined }],
		});
		const reward = new RewardPage(workbench, 'hostile.reward.ts');
		await reward.open();
		hostile.untouched('before the workspace is trusted');
		await workbench.command('Workspaces: Manage Workspace Trust');
		await page
			.locator('.workspace-trust-editor')
			.getByRole('button', { name: /^Trust\b/ })
			.first()
			.click();
		await waitUntil(() => driver.run((vscode) => vscode.workspace.isTrusted), 'the workspace is trusted');
		await reward.open();
		await reward.untilInline(/^0\.45 .* 1 case/);
		await reward.lens('Verify').waitFor();
		// The recipe that names this reward also uses the other one.
		assert.deepEqual([...new Set(hostile.started())].sort(), ['hostile.reward.ts', 'snake.reward.py']);
		assert.equal(
			(await driver.run((vscode) => vscode.workspace.getConfiguration('reasoningLab').get<object[]>('policies')))
				?.length,
			1,
		);
		await workbench.command('Reasoning Lab: Start Run');
		await workbench.quickInput().waitFor();
		await page.keyboard.press('Escape');
	});
});
