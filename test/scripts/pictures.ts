/**
 * `npm run pictures [-- NAME...] [--again]`: takes the README screenshots in media/pictures during a live training run
 * in a real workbench, and those of the walkthrough in media/walkthrough. `--again` reuses the previous runs.
 * `--run FOLDER` selects another demo run for the walkthrough, and `--pytorch FOLDER` a run of a small model, which is
 * otherwise trained with the tests' Python. If names are given, only those are saved (`walkthrough`: all of the
 * walkthrough).
 */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { chromium, type Page } from 'playwright-core';
import { torchPythonVariable } from '../../src/runs/servedCheckpoint.ts';
import { readLines, waitUntil } from '../e2e/laboratory.ts';
import { DashboardPage } from '../e2e/pages/dashboardPage.ts';
import { RolloutsPage } from '../e2e/pages/rolloutsPage.ts';
import { TreePage } from '../e2e/pages/treePage.ts';
import { WorkbenchPage } from '../e2e/pages/workbenchPage.ts';
import { buildIfStale } from './build.ts';
import { makePackage } from './package.ts';
import { artifacts, cache, node, root } from './paths.ts';
import { findTestPython } from './pythonEnvironment.ts';
import { walkthroughPictures } from './walkthroughPictures.ts';
import { findChromium } from './workbench/chromium.ts';
import { installCodeServer } from './workbench/install.ts';
import { Server } from './workbench/server.ts';

const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: { again: { type: 'boolean', default: false }, run: { type: 'string' }, pytorch: { type: 'string' } },
});

const pictures = join(root, 'media/pictures');
const home = join(cache, 'pictures');
const project = join(home, 'addition');
const recipe = join(project, 'addition.recipe.json');
const size = { width: 1440, height: 900 };

const options = (changes: readonly string[]) => changes.flatMap((change) => ['--set', change]);
/** Options for an initial run that is stopped during its cold start. */
const tried = options(['name="first try"', 'model.layers=2', 'model.width=64']);
/** Options for the demo with fewer steps and more points on its held-out accuracy curve. */
const shortened = options(['stages.0.until.every=10', 'stages.1.steps=160', 'evaluate.every=10']);
/** GRPO update from which screenshots are taken, before the last one. */
const enough = 120;

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

const updates = (run: string, of: string) =>
	readLines<Line>(join(run, 'metrics.jsonl')).filter(({ stage }) => stage === of).length;

/**
 * Finds the most informative group in the newest step: the most distinct rewards, with a mix of correct and incorrect.
 */
function informativeGroup(run: string): { step: number; group: number; prompt: string } {
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

/** Drags the edge of the side bar until the tree rows fit. */
async function widenSideBar(page: Page, by: number): Promise<void> {
	const box = await page.locator('.part.sidebar').boundingBox();
	if (!box) throw new Error('The side bar is not open.');
	const [x, y] = [box.x + box.width, box.y + box.height / 2];
	await page.mouse.move(x, y);
	await page.mouse.down();
	await page.mouse.move(x + by, y, { steps: 5 });
	await page.mouse.up();
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
	const log = join(artifacts, 'pictures-server.log');
	const server = new Server({
		entry: await installCodeServer(console.log),
		log,
		settings: {
			'workbench.colorTheme': 'Dark Modern',
			// biome-ignore lint/suspicious/noTemplateCurlyInString: the workbench fills it in
			'window.title': '${activeEditorShort}${separator}${rootName}',
			'window.commandCenter': false,
			'workbench.layoutControl.enabled': false,
		},
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
		await server.installExtension(
			await makePackage(`${process.platform}-${process.arch}`, join(home, 'pictures.vsix')),
		);
		await server.start();
		if (!values.again) {
			await cli('run', recipe, '--detach', ...tried);
			const first = runFolders().at(-1) as string;
			await waitUntil(() => updates(first, 'sft') >= 30, 'the first try has 30 updates', 600);
			await cli('stop', first);
			console.log(`reasoning-lab run addition.recipe.json ${shortened.join(' ')}`);
			await cli('run', recipe, '--detach', ...shortened);
		}
		const run = runFolders().at(-1) as string;
		const workbench = new WorkbenchPage(
			await server.openPage(chrome, { viewport: size, deviceScaleFactor: 1.5, colorScheme: 'dark' }),
		);
		const { page } = workbench;
		const shoot = async (name: string) => {
			if (positionals.length > 0 && !positionals.includes(name)) return;
			// Move the pointer where nothing reacts to it. A list has no blinking caret.
			await page.mouse.move(size.width / 2, 12);
			await page.waitForTimeout(1500);
			const path = join(pictures, `${name}.png`);
			await page.screenshot({ path, animations: 'disabled' });
			console.log(`${relative(root, path)}: ${Math.round(statSync(path).size / 1000)} kB`);
		};
		// Use workspace settings because the workbench does not watch its user settings.
		const setTheme = (name: string) => {
			mkdirSync(join(project, '.vscode'), { recursive: true });
			writeFileSync(join(project, '.vscode/settings.json'), JSON.stringify({ 'workbench.colorTheme': name }));
		};
		setTheme('Dark Modern');
		await workbench.open(server.url(project));
		await workbench.themed('vs-dark');
		await workbench.openSideBar();
		await widenSideBar(page, 90);
		await workbench.run(/^addition/).click();
		const dashboard = new DashboardPage(await workbench.app('dashboard'));
		if (!values.again)
			await waitUntil(() => updates(run, 'grpo') >= enough, `there are ${enough} updates of GRPO`, 3600);
		await dashboard.card('Reward').waitFor();
		await shoot('workbench');
		await workbench.closeSideBar();
		setTheme('Light Modern');
		await workbench.themed('vs');
		// The first charts are shown in the previous screenshot.
		await dashboard.frame.locator('.group[data-group="policy"]').evaluate((group) => {
			const head = document.querySelector('.top')?.clientHeight ?? 0;
			window.scrollBy(0, group.getBoundingClientRect().top - head - 8);
		});
		await shoot('dashboard-light');
		setTheme('Dark Modern');
		await workbench.themed('vs-dark');

		// Prevent newer steps from pushing the selected one out of view.
		if (!values.again) {
			await dashboard.action('Pause').click();
			await dashboard.status(/paused/);
		}
		const { step, prompt } = informativeGroup(run);
		await dashboard.action('Rollouts').click();
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

/** Takes the search screenshot, which needs no run because its policy is a script. */
async function search(): Promise<void> {
	const browser = await findChromium(console.log);
	if ('missing' in browser) throw new Error(browser.missing);
	await buildIfStale();
	const workspace = join(home, 'heads');
	rmSync(workspace, { recursive: true, force: true });
	mkdirSync(workspace, { recursive: true });
	cpSync(join(root, 'media/examples/heads.script.json'), join(workspace, 'heads.script.json'));
	const server = new Server({
		entry: await installCodeServer(console.log),
		log: join(artifacts, 'pictures-server.log'),
		testDriver: true,
		settings: { 'workbench.colorTheme': 'Dark Modern', 'window.commandCenter': false },
	});
	const question = '35 heads and 94 legs: how many rabbits?';
	const options = ['--strategy', 'mcts', '--guide', 'mean-logprob', '--answer', '12', '--log', 'searches/heads.jsonl'];
	await promisify(execFile)(
		node,
		[join(root, 'dist/cli.js'), 'search', question, '--policy', 'heads.script.json', '--alternatives', '5', ...options],
		{ cwd: workspace, env: { ...process.env, ...server.environment } },
	);
	const chrome = await chromium.launch(browser.launch);
	try {
		await server.start();
		const workbench = new WorkbenchPage(
			await server.openPage(chrome, {
				viewport: { width: 1240, height: 780 },
				deviceScaleFactor: 1.5,
				colorScheme: 'dark',
			}),
		);
		await workbench.open(server.url(workspace, { extension: root }));
		await workbench.themed('vs-dark');
		await workbench.closeSideBar();
		await workbench.command('Open Search Tree');
		await workbench.fileDialog(join(workspace, 'searches/heads.jsonl'), 'heads.jsonl', 'Open Tree');
		const tree = new TreePage(await workbench.app('tree'));
		await tree.facts().filter({ hasText: 'answer 12' }).waitFor();
		await tree.tree().focus();
		for (const key of ['Home', 'ArrowRight', 'ArrowRight', '0']) await workbench.page.keyboard.press(key);
		await workbench.page.mouse.move(620, 12);
		await workbench.page.waitForTimeout(1500);
		const path = join(pictures, 'search-tree.png');
		await workbench.page.screenshot({ path, animations: 'disabled' });
		console.log(`${relative(root, path)}: ${Math.round(statSync(path).size / 1000)} kB`);
	} finally {
		await chrome.close();
		await server.dispose();
	}
}

/** Trains the small recipe of the PyTorch template, which takes minutes. Returns the folder of the run. */
async function pytorchRun(): Promise<string> {
	const found = await findTestPython(console.log);
	if ('missing' in found) throw new Error(found.missing);
	const folder = join(cache, 'walkthrough-pytorch');
	rmSync(folder, { recursive: true, force: true });
	cpSync(join(root, 'media/templates/pytorch'), folder, { recursive: true });
	const env = { ...process.env, [torchPythonVariable]: found.python };
	await promisify(execFile)(node, [join(root, 'dist/cli.js'), 'run', 'small.recipe.json'], {
		...{ cwd: folder, env, maxBuffer: 1 << 26 },
	});
	const [run] = readdirSync(join(folder, 'runs')).filter((name) => !name.startsWith('.'));
	if (run === undefined) throw new Error('The recipe was not run.');
	return join(folder, 'runs', run);
}

const wanted = (name: string) => positionals.length === 0 || positionals.includes(name);
const others = positionals.filter((name) => name !== 'search-tree' && name !== 'walkthrough');
if (positionals.length === 0 || others.length > 0) await main();
if (wanted('search-tree')) await search();
if (wanted('walkthrough')) {
	await buildIfStale();
	const run = values.run ?? runFolders().at(-1);
	if (run === undefined) throw new Error('There is no run of the demo. Take the other pictures first.');
	await walkthroughPictures(run, values.pytorch ?? (await pytorchRun()));
}
