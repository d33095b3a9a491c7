// @reaches dashboard
import assert from 'node:assert/strict';
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../scripts/paths.ts';
import { skip } from '../support/chromium.ts';
import { violations } from './accessibility.ts';
import { inOrder, Laboratory, readLines, waitUntil } from './laboratory.ts';
import { DashboardPage } from './pages/dashboardPage.ts';
import { RolloutsPage } from './pages/rolloutsPage.ts';

interface RolloutLabels {
	readonly steps: readonly { readonly rating: number | null }[];
}

interface Pair {
	readonly prompt: unknown;
	readonly chosen: unknown;
	readonly rejected: unknown;
}

test("another trainer's run: its widest group, two completions, labels, pairs; a transcript and its faults", {
	skip,
}, async (t) => {
	const lab = await Laboratory.open(t, 'foreign-run');
	const step = inOrder(t);
	const run = join(lab.workspace, 'outputs', 'trl-run');
	cpSync(join(root, 'test/fixtures/trl-run'), run, { recursive: true });
	const transcript = 'reflexion-transcript.txt';
	cpSync(join(root, 'test/fixtures/transcripts', transcript), join(lab.workspace, transcript));
	const before = readFileSync(join(run, 'checkpoint-30', 'trainer_state.json'));
	const workbench = await lab.workbench();
	const { page } = workbench;

	await step('the folder of a TRL run is opened', async () => {
		await workbench.openSideBar();
		await workbench.command('Open Run Folder');
		await workbench.fileDialog(`${run}/`, 'completions', 'Open');
		await workbench.run(/^trl-run/).waitFor();
		await workbench.screenshot('foreign-tree');
	});

	await step('its dashboard has its curves and names the trainer', async () => {
		await workbench.runAction(/^trl-run/, /Open Dashboard/);
		const dashboard = new DashboardPage(await workbench.app('dashboard'));
		await dashboard.legend('Reward').filter({ hasText: /\d/ }).waitFor();
		await dashboard.frame.getByText(/TRL/).first().waitFor();
		await workbench.screenshot('foreign-dashboard');
		assert.deepEqual(await violations(dashboard.frame), []);
		await dashboard.action('Rollouts').click();
	});

	let rollouts = new RolloutsPage(await workbench.app('rollouts'));
	let { frame } = rollouts;

	await step('a key leads to the group with the widest spread', async () => {
		await rollouts.cards().first().waitFor();
		await frame.locator('body').press('w');
		await frame.getByRole('heading', { name: /^Group \d+ \(1 of 4\)/ }).waitFor();
		await rollouts.cards().first().getByText(/\d/).first().waitFor();
		await workbench.screenshot('foreign-group');
		const spreads = (await rollouts.groups().allInnerTexts()).map((text) => Number(/±([\d.]+)/.exec(text)?.[1]));
		assert.ok(spreads.length > 1 && spreads.every(Number.isFinite), JSON.stringify(spreads));
		const open = rollouts.groups().and(frame.locator('[aria-selected=true]'));
		const spread = Number(/±([\d.]+)/.exec(await open.innerText())?.[1]);
		assert.equal(spread, Math.max(...spreads));
	});

	await step('two completions are compared, and where they part is marked', async () => {
		for (const index of [0, 1]) await frame.getByRole('button', { name: `Choose completion ${index}` }).click();
		await frame.getByRole('group', { name: 'Chosen completions' }).getByRole('button', { name: 'Compare' }).click();
		await frame.getByRole('region', { name: 'Compare two completions' }).waitFor();
		await frame.getByText(/^The same for \d+ (characters|tokens)/).waitFor();
		await workbench.screenshot('foreign-compare');
		assert.deepEqual(await violations(frame), []);
		await frame.getByRole('button', { name: 'Compare in Diff Editor' }).click();
		await page.locator('.monaco-diff-editor').first().waitFor();
		await workbench.screenshot('foreign-diff');
		await workbench.editorTab(/^Rollouts/).click();
		// The panel was hidden, and its page is a new one with the old state.
		rollouts = new RolloutsPage(await workbench.app('rollouts'));
		({ frame } = rollouts);
		await frame.getByRole('region', { name: 'Compare two completions' }).waitFor();
		await frame.getByRole('tab', { name: 'Group', exact: true }).click();
		await rollouts.cards().first().waitFor();
	});

	const labels = () => readLines<RolloutLabels>(join(annotationsOf(lab), 'labels.jsonl'));

	await step('the steps of a completion are labelled by keys', async () => {
		await rollouts.cards().nth(1).click();
		await frame.locator('body').press('s');
		const list = frame.getByRole('listbox', { name: 'Steps of the completion' });
		await list.getByRole('option').first().waitFor();
		await list.focus();
		await list.press('Home');
		await list.press('-');
		await waitUntil(() => labels().at(-1)?.steps[0]?.rating === -1, 'the label is kept');
		await workbench.screenshot('foreign-label');
		assert.deepEqual(await violations(frame), []);
		await list.press('u');
		await waitUntil(() => labels().at(-1)?.steps[0]?.rating === null, 'the label is taken back');
		await list.press('Home');
		await list.press('+');
		await waitUntil(() => labels().at(-1)?.steps[0]?.rating === 1, 'the label is kept');
		await frame.getByRole('tab', { name: 'Group', exact: true }).click();
	});

	await step('pairs of the step are exported', async () => {
		const target = join(lab.workspace, 'pairs.jsonl');
		await frame.getByRole('button', { name: 'Export…' }).click();
		await workbench.pick(/DPO/);
		await page.locator('.quick-input-title', { hasText: 'as Preference pairs' }).waitFor();
		await page.locator('.quick-input-widget:visible').getByRole('button', { name: 'OK', exact: true }).click();
		await workbench.fileDialog(target, 'outputs', /^(OK|Save)$/);
		await waitUntil(() => existsSync(target), 'the file is written');
		const pairs = readLines<Pair>(target);
		assert.equal(pairs.length, 4);
		for (const { prompt, chosen, rejected } of pairs) {
			for (const text of [prompt, chosen, rejected]) assert.equal(typeof text, 'string');
			assert.notDeepEqual(chosen, rejected);
		}
	});

	await step('a transcript is opened, and its faults are listed', async () => {
		await workbench.command('Go to File...');
		await workbench.quickInput().fill(transcript);
		await workbench.pick(transcript);
		await workbench.editorTab(transcript).waitFor();
		await workbench.command('Open Transcript');
		const inspector = await workbench.app('transcript');
		await inspector
			.getByText(/18.735 tokens/)
			.first()
			.waitFor();
		for (const fault of ['ReviseAnswer failed', 'The retry of ReviseAnswer changed nothing', /lacks reflection/]) {
			await inspector.getByText(fault).first().waitFor({ state: 'attached' });
		}
		await workbench.screenshot('foreign-transcript');
		assert.deepEqual(await violations(inspector), []);
	});

	await step("nothing was written into the trainer's folder", () => {
		assert.deepEqual(readFileSync(join(run, 'checkpoint-30', 'trainer_state.json')), before);
		assert.deepEqual(readdirSync(run).sort(), ['checkpoint-30', 'completions']);
		return Promise.resolve();
	});
});

/** The lab's words on the one foreign run, in the folder of the user. */
function annotationsOf(lab: Laboratory): string {
	const folder = join(lab.server.environment.XDG_DATA_HOME ?? '', 'reasoning-lab', 'annotations');
	const [name = ''] = existsSync(folder) ? readdirSync(folder) : [];
	return join(folder, name);
}
