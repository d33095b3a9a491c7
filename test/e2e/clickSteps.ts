import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Locator } from 'playwright-core';
import { inOrder, type Laboratory, readLines, waitUntil } from './laboratory.ts';
import { DashboardPage } from './pages/dashboardPage.ts';
import { RolloutsPage } from './pages/rolloutsPage.ts';
import { TreePage } from './pages/treePage.ts';
import type { WorkbenchPage } from './pages/workbenchPage.ts';

/** Counts the clicks of a task. */
class Clicks {
	count = 0;

	async click(target: Locator, options: Parameters<Locator['click']>[0] = {}): Promise<void> {
		this.count++;
		await target.click(options);
	}
}

/**
 * Performs frequent tasks with only the mouse and no more clicks than promised. The side bar is open.
 * @param run name of a finished run
 * @param other name of another run
 * @param foreign name of a folder in the workspace with a run of another trainer
 * @param offline name of a folder in the workspace with an offline run of W&B
 * @param text name of a folder in the workspace with rollouts of verl, which are text
 */
export async function countClicks(
	t: TestContext,
	lab: Laboratory,
	workbench: WorkbenchPage,
	{ run, other, foreign, offline, text }: Readonly<Record<'run' | 'other' | 'foreign' | 'offline' | 'text', string>>,
): Promise<void> {
	const { page } = workbench;
	const inTurn = inOrder(t);
	const task = (name: string, clicks: number, body: (clicks: Clicks) => Promise<void>) =>
		inTurn(`${name}: ${clicks === 1 ? 'one click' : `${clicks} clicks`}`, async () => {
			const counted = new Clicks();
			await body(counted);
			assert.equal(counted.count, clicks);
			await workbench.command('View: Close All Editors');
		});
	const sideBar = page.locator('.sidebar');
	await workbench.openSideBar();

	await task('a search with the suggested settings', 2, async (clicks) => {
		await clicks.click(sideBar.getByRole('button', { name: 'New Search' }).first());
		const form = await workbench.app('newSearch');
		await clicks.click(form.getByRole('button', { name: 'Start' }));
		const tree = new TreePage(await workbench.app('tree'));
		await tree
			.facts()
			.filter({ hasText: /completed/ })
			.waitFor();
		await waitUntil(async () => (await workbench.editorTab('New Search').count()) === 0, 'the form is closed');
		await workbench.screenshot('clicks-search');
	});

	await task('two runs compared', 2, async (clicks) => {
		const row = workbench.run(new RegExp(`^${run}`)).first();
		await row.hover();
		await clicks.click(row.getByRole('button', { name: 'Compare Runs' }));
		await workbench.asked(`Compare ${run} with`);
		await page.mouse.move(0, 0);
		await clicks.click(workbench.quickItems().filter({ hasText: other }).first());
		const comparison = await workbench.app('comparison');
		for (const name of [run, other]) await comparison.getByText(name, { exact: true }).first().waitFor();
	});

	await task('a new reward', 2, async (clicks) => {
		const head = sideBar.locator('.pane-header').filter({ hasText: 'Rewards' });
		await head.hover();
		await clicks.click(head.getByRole('button', { name: 'New Reward' }));
		await workbench.asked('New reward');
		await page.mouse.move(0, 0);
		await clicks.click(workbench.quickItems().filter({ hasText: 'brevity.reward.ts' }));
		await workbench.editorTab(/brevity\.reward\.ts/).waitFor();
		await workbench.screenshot('clicks-reward');
	});
	for (const name of ['brevity.reward.ts', 'brevity.cases.jsonl']) {
		rmSync(join(lab.workspace, name), { force: true });
		rmSync(join(lab.workspace, 'rewards', name), { force: true });
	}

	await workbench.runAction(new RegExp(`^${run}`), /Open Dashboard/);
	await task("from a spike in a chart to the step's rollouts", 1, async (clicks) => {
		const dashboard = new DashboardPage(await workbench.app('dashboard'));
		const folder = lab.runs().find((path) => basename(path).startsWith(`${run}-`)) as string;
		const rows = readLines<{ step: number; reward?: number }>(join(folder, 'metrics.jsonl'));
		const spike = rows.reduce((a, b) => ((b.reward ?? -1) > (a.reward ?? -1) ? b : a));
		const chart = dashboard.card('Reward').locator('.u-over');
		await chart.scrollIntoViewIfNeeded();
		const { width = 0, height = 0 } = (await chart.boundingBox()) ?? {};
		const [first, last] = [rows[0]?.step ?? 0, rows.at(-1)?.step ?? 0];
		const x = ((spike.step - first) / (last - first)) * width;
		const position = { x: Math.min(width - 1, Math.max(1, x)), y: height / 2 };
		await chart.hover({ position });
		await dashboard.frame
			.locator('.readout')
			.filter({ hasText: `step ${spike.step}` })
			.waitFor();
		await workbench.page.waitForTimeout(100);
		await clicks.click(chart, { position, modifiers: ['ControlOrMeta'] });
		const rollouts = new RolloutsPage(await workbench.app('rollouts'));
		await rollouts.cards().first().waitFor();
		assert.equal(await rollouts.openStep(), spike.step);
	});

	await page.keyboard.press('Control+Shift+E');
	const files = page.locator('.explorer-folders-view');
	/** Opens a folder in the Explorer and waits until it lists a file, without counting clicks. */
	const shown = async (name: string, pattern: RegExp) => {
		const folder = files.getByRole('treeitem', { name, exact: true });
		const file = files.getByRole('treeitem', { name: pattern });
		// Retry, because the rows move while the Explorer lists the files that were deleted above.
		await waitUntil(async () => {
			if ((await file.count()) > 0) return true;
			if ((await folder.getAttribute('aria-expanded')) !== 'true') await folder.click();
			return false;
		}, 'the folder lists its files');
		return file;
	};
	await task("another trainer's run from one of its files", 1, async (clicks) => {
		await clicks.click(await shown(offline, /\.wandb/));
		const dashboard = new DashboardPage(await workbench.app('dashboard'));
		await dashboard.frame.getByText('W&B').first().waitFor();
	});
	await page.keyboard.press('Control+Shift+E');
	await task("another trainer's run from a text file", 2, async (clicks) => {
		await clicks.click(await shown(text, /^1\.jsonl/));
		await workbench.editorTab(/1\.jsonl/).waitFor();
		await clicks.click(page.locator('.editor-actions').getByRole('button', { name: 'Open as Run' }));
		const dashboard = new DashboardPage(await workbench.app('dashboard'));
		await dashboard.frame.getByText('verl').first().waitFor();
	});
	await workbench.command('View: Close All Editors');
	await page.keyboard.press('Control+Shift+E');
	const found = page.locator('.pane').filter({ hasText: 'Runs from Other Trainers' });
	const foundHead = found.locator('.pane-header');
	for (const [name, title] of [
		[text, 'verl'],
		[foreign, 'TRL'],
	] as const) {
		await task(`a run of ${title} from the list in the Explorer`, 1, async (clicks) => {
			// VS Code collapses all views that extensions add to the Explorer until they are opened once.
			if ((await foundHead.getAttribute('aria-expanded')) === 'false') await foundHead.click();
			await clicks.click(found.getByRole('treeitem', { name: new RegExp(`^${name}, ${title}`) }));
			const dashboard = new DashboardPage(await workbench.app('dashboard'));
			await dashboard.frame.getByText(title).first().waitFor();
			await workbench.screenshot(`clicks-found-${title}`);
		});
		await page.keyboard.press('Control+Shift+E');
	}
	await task("another trainer's run from the context menu of its folder", 2, async (clicks) => {
		const row = files.getByRole('treeitem', { name: foreign, exact: true });
		const entry = page.getByRole('menuitem', { name: 'Open as Run', exact: true });
		// Retry, because the rows move while the Explorer lists the files that were deleted above.
		await waitUntil(async () => {
			await row.click({ button: 'right' });
			clicks.count = 1;
			// A menu ignores clicks just after it opens.
			await page.waitForTimeout(500);
			if ((await entry.count()) > 0) return true;
			await page.keyboard.press('Escape');
			return false;
		}, 'the menu of the folder is open');
		await clicks.click(entry);
		const dashboard = new DashboardPage(await workbench.app('dashboard'));
		await dashboard.frame.getByText('TRL').first().waitFor();
		await workbench.screenshot('clicks-foreign');
	});
	await workbench.openSideBar();
}
