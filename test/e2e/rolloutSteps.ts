import assert from 'node:assert/strict';
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Dialog, Frame, Request } from 'playwright-core';
import { root } from '../scripts/paths.ts';
import { hostileHost } from '../support/hostileTexts.ts';
import { writeExploredRun } from '../unit/webview/rollouts/exploredRunFixture.ts';
import { overflow, violations } from './accessibility.ts';
import { groups, perGroup, texts, writeHostileRun } from './hostileRun.ts';
import { inOrder, type Laboratory, readLines, waitUntil } from './laboratory.ts';
import { DashboardPage } from './pages/dashboardPage.ts';
import { RolloutsPage } from './pages/rolloutsPage.ts';
import type { WorkbenchPage } from './pages/workbenchPage.ts';

interface RolloutLabels {
	readonly steps: readonly { readonly rating: number | null }[];
}

interface Pair {
	readonly prompt: unknown;
	readonly chosen: unknown;
	readonly rejected: unknown;
}

/** Number of groups with hostile text: scripts, handlers, embedded documents, styles or links. */
const activeGroups = 3;

/** Runs in the workspace whose rollouts are opened. */
export interface OpenedRuns {
	/** Folder of a TRL run, which is not in a folder that is searched for runs. */
	readonly foreign: string;
	readonly own: string;
	/** Number of rollouts in our own run and the hostile one. */
	readonly rollouts: number;
}

export async function prepareRollouts(lab: Laboratory): Promise<OpenedRuns> {
	const foreign = join(lab.workspace, 'outputs', 'trl-run');
	cpSync(join(root, 'test/fixtures/trl-run'), foreign, { recursive: true });
	const own = join(lab.workspace, 'runs', 'bakery');
	await writeExploredRun(own, 6);
	assert.ok(texts.length >= 60);
	writeHostileRun(join(lab.workspace, 'runs', 'hostile'));
	const folder = join(own, 'rollouts');
	const counts = readdirSync(folder).map((name) => readLines(join(folder, name)).length);
	return { foreign, own, rollouts: counts.reduce((sum, count) => sum + count, texts.length) };
}

/** Opens the rollouts of another trainer: the widest group, two completions, labels, pairs. */
export async function openForeign(
	t: TestContext,
	lab: Laboratory,
	workbench: WorkbenchPage,
	run: string,
): Promise<void> {
	const before = readFileSync(join(run, 'checkpoint-30', 'trainer_state.json'));
	const { page } = workbench;
	const step = inOrder(t);
	await step('a TRL run folder is opened', async () => {
		await workbench.openSideBar();
		await workbench.command('Open Run Folder');
		await workbench.fileDialog(`${run}/`, 'completions', 'Open');
		await workbench.run(/^trl-run/).waitFor();
		await workbench.screenshot('foreign-tree');
	});

	await step('its dashboard shows its curves and the name of the trainer', async () => {
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

	await step('a key opens the group with the widest spread', async () => {
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

	await step('two completions are compared, and the point where they diverge is marked', async () => {
		for (const index of [0, 1]) await frame.getByRole('button', { name: `Select completion ${index}` }).click();
		await frame.getByRole('group', { name: 'Selected completions' }).getByRole('button', { name: 'Compare' }).click();
		await frame.getByRole('region', { name: 'Compare two completions' }).waitFor();
		await frame.getByText(/^Identical for \d+ (characters|tokens)/).waitFor();
		assert.ok((await overflow(frame)) <= 0);
		await workbench.screenshot('foreign-compare');
		await frame.evaluate(() => {
			document.body.dataset.seen = 'before';
		});
		await frame.getByRole('button', { name: 'Open in Diff Editor' }).click();
		await page.locator('.monaco-diff-editor').first().waitFor();
		await workbench.screenshot('foreign-diff');
		await workbench.editorTab(/^Rollouts/).click();
		// The panel was hidden and keeps its previous page.
		rollouts = new RolloutsPage(await workbench.app('rollouts'));
		assert.equal(await rollouts.frame.evaluate(() => document.body.dataset.seen), 'before');
		({ frame } = rollouts);
		await frame.getByRole('region', { name: 'Compare two completions' }).waitFor();
		await frame.getByRole('tab', { name: 'Group', exact: true }).click();
		await rollouts.cards().first().waitFor();
	});

	const labels = () => readLines<RolloutLabels>(join(annotationsOf(lab), 'labels.jsonl'));

	await step('the steps of a completion are labeled with the keyboard', async () => {
		await rollouts.cards().nth(1).click();
		await frame.locator('body').press('s');
		const list = frame.getByRole('listbox', { name: 'Steps of the completion' });
		await list.getByRole('option').first().waitFor();
		await list.focus();
		await list.press('Home');
		await list.press('-');
		await waitUntil(() => labels().at(-1)?.steps[0]?.rating === -1, 'the label is saved');
		await workbench.screenshot('foreign-label');
		await list.press('u');
		await waitUntil(() => labels().at(-1)?.steps[0]?.rating === null, 'the label is cleared');
		await list.press('Home');
		await list.press('+');
		await waitUntil(() => labels().at(-1)?.steps[0]?.rating === 1, 'the label is saved');
		await frame.getByRole('tab', { name: 'Group', exact: true }).click();
	});

	await step('pairs of the step are exported', async () => {
		const target = join(lab.workspace, 'pairs.jsonl');
		// Otherwise only the completions selected for comparison would be exported.
		await frame.getByRole('button', { name: 'Clear', exact: true }).click();
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

	await step("nothing was written into the trainer's folder", () => {
		assert.deepEqual(readFileSync(join(run, 'checkpoint-30', 'trainer_state.json')), before);
		assert.deepEqual(readdirSync(run).sort(), ['checkpoint-30', 'completions']);
		return Promise.resolve();
	});
}

/** Opens the rollouts of our own run: labels stored next to the run, and behaviors over training. */
export async function openOwn(t: TestContext, workbench: WorkbenchPage, bakery: string): Promise<void> {
	const { page } = workbench;
	const step = inOrder(t);
	const { frame } = await openAlone(workbench, 'bakery');
	await workbench.closeSideBar();

	await step('steps are labeled with the keyboard, and the labels are saved next to the run', async () => {
		await frame
			.getByRole('button', { name: /^Label the steps of completion/ })
			.first()
			.click();
		await frame.locator('.step-label').first().waitFor();
		await frame.locator('.step-labels').focus();
		await page.keyboard.press('+');
		await frame.locator('.rated-1').waitFor();
		await page.keyboard.press('-');
		await frame.locator('.rated--1').waitFor();
		const saved = () => readLines<RolloutLabels>(join(bakery, 'annotations/labels.jsonl')).at(-1)?.steps.slice(0, 2);
		await waitUntil(
			() => JSON.stringify(saved()?.map(({ rating }) => rating)) === '[1,-1]',
			'both labels are saved',
			10,
		);
		await workbench.screenshot('rollouts-explorer-labels');
	});

	await step('behaviors are counted over training, and an example leads to its rollout', async () => {
		await frame.getByRole('tab', { name: 'Behaviors' }).click();
		await frame.getByText(/(Read|index:) 6 steps/).waitFor();
		await frame.locator('.example').first().waitFor();
		await workbench.screenshot('rollouts-explorer-behaviors');
		await frame.locator('.example').first().click();
		await frame.locator('.card.selected').waitFor();
	});
}

/** Opens hostile rollouts, which are displayed without taking effect. */
export async function openHostile(t: TestContext, workbench: WorkbenchPage): Promise<void> {
	const { page } = workbench;
	const requested: string[] = [];
	const dialogs: string[] = [];
	const onRequest = (request: Request) => {
		if (request.url().includes(hostileHost)) requested.push(request.url());
	};
	const onDialog = (dialog: Dialog) => {
		dialogs.push(dialog.message());
		void dialog.dismiss();
	};
	page.context().on('request', onRequest);
	page.on('dialog', onDialog);

	const harmless = async (frame: Frame, where: string) => {
		for (const one of page.frames()) {
			const hit = await one
				.evaluate(() => (globalThis as { hostile?: number }).hostile ?? ({} as { polluted?: boolean }).polluted)
				.catch(() => undefined);
			assert.equal(hit ?? null, null, `${where}: a script ran in ${one.url()}`);
		}
		assert.equal(await page.locator('[data-hostile]').count(), 0, `${where}: hostile markup in the workbench`);
		assert.equal(await frame.locator('[data-hostile]').count(), 0, `${where}: hostile markup in the panel`);
		assert.deepEqual([requested, dialogs], [[], []], where);
		const wider = await overflow(frame);
		assert.ok(wider <= 0, `${where}: the page is ${wider} px wider than its panel`);
	};

	const step = inOrder(t);
	await step('the tree names the run in one line of plain text', async () => {
		await workbench.openSideBar();
		const row = workbench.run(/^hostile/);
		await row.waitFor();
		const name = (await row.getAttribute('aria-label')) ?? '';
		assert.ok(!/[\u202a-\u202e\u2066-\u2069]/.test(name), name);
		await row.hover();
		await page.waitForTimeout(1200);
		await workbench.screenshot('hostile-tree');
	});

	const rollouts = await openAlone(workbench, 'hostile');
	await rollouts.groups().first().waitFor();
	assert.equal(await rollouts.groups().count(), groups);

	// Only groups with markup that could run. `hostilePages.test.ts` shows all texts in pages outside the workbench.
	for (let group = 0; group < activeGroups; group++) {
		const names = texts.slice(group * perGroup, (group + 1) * perGroup).map(([name]) => name);
		await step(`group ${group}: ${names.join(', ')}`, async () => {
			await rollouts.groups().nth(group).click();
			await rollouts.frame.getByRole('heading', { name: new RegExp(`^Group ${group}\\b`) }).waitFor();
			await rollouts.cards().first().waitFor();
			for (let i = 0; i < names.length; i++) {
				const card = rollouts.cards().nth(i);
				await card.scrollIntoViewIfNeeded();
				const box = await card.boundingBox();
				assert.ok(box !== null && box.width > 100 && box.height < 20_000, JSON.stringify(box));
			}
			await harmless(rollouts.frame, names.join(', '));
			await workbench.screenshot(`hostile-group-${group}`);
		});
	}

	await step('nothing has taken effect a while later', async () => {
		await page.waitForTimeout(1000);
		await harmless(rollouts.frame, 'afterwards');
	});

	page.context().off('request', onRequest);
	// Otherwise, it would also answer the prompt about leaving the page.
	page.off('dialog', onDialog);
}

/** Opens a run's rollouts from the tree after closing all other editors. */
async function openAlone(workbench: WorkbenchPage, name: string): Promise<RolloutsPage> {
	await workbench.command('View: Close All Editors');
	await workbench.editorTab(/./).first().waitFor({ state: 'detached' });
	await workbench.openSideBar();
	await workbench.runMenu(workbench.run(new RegExp(`^${name}`)), 'Open Rollouts');
	return new RolloutsPage(await workbench.app('rollouts'));
}

/** Returns the path of the annotations for the only foreign run, in the user's folder. */
function annotationsOf(lab: Laboratory): string {
	const folder = join(lab.server.environment.XDG_DATA_HOME ?? '', 'reasoning-lab', 'annotations');
	const [name = ''] = existsSync(folder) ? readdirSync(folder) : [];
	return join(folder, name);
}
