/**
 * `npm run pictures [-- --again]`: the pictures of the README, in media/pictures, from a run that trains while they are
 * taken, in a real workbench. `--again` takes them of the runs of the last time.
 */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { chromium } from 'playwright-core';
import { readLines, waitUntil } from '../e2e/laboratory.ts';
import { DashboardPage } from '../e2e/pages/dashboardPage.ts';
import { RolloutsPage } from '../e2e/pages/rolloutsPage.ts';
import { WorkbenchPage } from '../e2e/pages/workbenchPage.ts';
import { buildIfStale } from './build.ts';
import { artifacts, cache, node, root } from './paths.ts';
import { findChromium } from './workbench/chromium.ts';
import { installCodeServer } from './workbench/install.ts';
import { Server } from './workbench/server.ts';

const { values } = parseArgs({ options: { again: { type: 'boolean', default: false } } });

const pictures = join(root, 'media/pictures');
const home = join(cache, 'pictures');
const project = join(home, 'addition');
const recipe = join(project, 'addition.recipe.json');
const size = { width: 1440, height: 900 };

/** The demo with shorter sums, so that its curves are there in minutes. */
const shorter = [
	'dataset.digits=2',
	'stages.0.until.every=5',
	'stages.1.steps=80',
	'stages.1.learning_rate=0.0003',
	'evaluate.every=5',
	'checkpoint.every=20',
].flatMap((change) => ['--set', change]);
/** Pictures are taken from this update on, and before the last one. */
const enough = 60;

interface Line {
	readonly step: number;
	readonly stage: string;
}

interface Rollout {
	readonly group: number;
	readonly prompt: string;
	readonly reward: number | null;
}

function runFolders(): string[] {
	const runs = join(project, 'runs');
	return readdirSync(runs, { withFileTypes: true })
		.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
		.map(({ name }) => join(runs, name))
		.sort((a, b) => statSync(a).birthtimeMs - statSync(b).birthtimeMs);
}

const updates = (run: string) =>
	readLines<Line>(join(run, 'metrics.jsonl')).filter(({ stage }) => stage === 'grpo').length;

/** Where in the newest step's file the group lies that shows most: some right, some wrong, of as many rewards as can be. */
function tellingGroup(run: string): { step: number; group: number; prompt: string } {
	const names = readdirSync(join(run, 'rollouts')).sort();
	for (const name of names.toReversed()) {
		const groups = Map.groupBy(readLines<Rollout>(join(run, 'rollouts', name)), ({ group }) => group);
		const telling = [...groups.values()]
			.map((rows) => {
				const right = rows.filter(({ reward }) => (reward ?? 0) >= 1).length;
				return { rows, kinds: new Set(rows.map(({ reward }) => reward)).size, balance: Math.abs(right - 4) };
			})
			.sort((a, b) => b.kinds - a.kinds || a.balance - b.balance)[0]?.rows[0];
		if (telling) return { step: Number(/\d+/.exec(name)?.[0]), group: telling.group, prompt: telling.prompt };
	}
	throw new Error(`${run} has no rollouts.`);
}

async function main(): Promise<void> {
	const browser = await findChromium(console.log);
	if ('missing' in browser) throw new Error(browser.missing);
	await buildIfStale();
	mkdirSync(pictures, { recursive: true });
	if (!values.again) {
		rmSync(home, { recursive: true, force: true });
		cpSync(join(root, 'media/templates/demo'), project, { recursive: true });
	}
	const server = new Server({
		entry: await installCodeServer(console.log),
		log: join(artifacts, 'pictures-server.log'),
		testDriver: true,
		settings: { 'workbench.colorTheme': 'Dark Modern', 'breadcrumbs.enabled': false, 'window.commandCenter': false },
	});
	const cli = async (...args: string[]) =>
		(
			await promisify(execFile)(node, [join(root, 'dist/cli.js'), ...args], {
				cwd: project,
				env: { ...process.env, ...server.environment },
			})
		).stdout;
	const chrome = await chromium.launch(browser.launch);
	try {
		await server.start();
		if (!values.again) {
			console.log(`reasoning-lab run addition.recipe.json ${shorter.join(' ')}`);
			await cli('run', recipe, '--detach', ...shorter);
		}
		const run = runFolders().at(-1) as string;
		const workbench = new WorkbenchPage(
			await server.openPage(chrome, { viewport: size, deviceScaleFactor: 1.5, colorScheme: 'dark' }),
		);
		const { page } = workbench;
		const shoot = async (name: string) => {
			// The pointer rests where nothing reacts to it; the caret of a list does not blink.
			await page.mouse.move(size.width / 2, 12);
			await page.waitForTimeout(1500);
			const path = join(pictures, `${name}.png`);
			await page.screenshot({ path, animations: 'disabled' });
			console.log(`${relative(root, path)}: ${Math.round(statSync(path).size / 1000)} kB`);
		};
		// Workspace settings, since the workbench does not watch its user settings.
		const setTheme = (name: string) => {
			mkdirSync(join(project, '.vscode'), { recursive: true });
			writeFileSync(join(project, '.vscode/settings.json'), JSON.stringify({ 'workbench.colorTheme': name }));
		};
		setTheme('Dark Modern');
		await workbench.open(server.url(project, { extension: root }));
		await workbench.openSideBar();
		if (!values.again) await waitUntil(() => updates(run) >= enough, `there are ${enough} updates of GRPO`, 3600);

		await workbench
			.run(/addition/)
			.last()
			.click();
		const dashboard = new DashboardPage(await workbench.app('dashboard'));
		await dashboard.card('Reward').waitFor();
		await shoot('workbench');
		await workbench.closeSideBar();
		setTheme('Light Modern');
		await workbench.themed('vs');
		await shoot('dashboard-light');
		setTheme('Dark Modern');
		await workbench.themed('vs-dark');

		const { step, prompt } = tellingGroup(run);
		await workbench.command('Reasoning Lab: Open Rollouts');
		const rollouts = new RolloutsPage(await workbench.app('rollouts'));
		await rollouts
			.steps()
			.filter({ hasText: String(step) })
			.first()
			.click();
		await rollouts.groups().filter({ hasText: prompt }).first().click();
		await rollouts.cards().first().waitFor();
		await shoot('rollouts');
		if (!values.again) await cli('stop', run).catch(() => undefined);
	} finally {
		await chrome.close();
		await server.dispose();
	}
}

await main();
