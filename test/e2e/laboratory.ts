/**
 * Fixture for an end-to-end test: its own workspace folder, a browser workbench with the extension, the CLI, and
 * complete cleanup, including engines and folders. A failing test leaves a screenshot.
 */
import { execFile } from 'node:child_process';
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { artifacts, node, root, screenshots } from '../scripts/paths.ts';
import { installCodeServer } from '../scripts/workbench/install.ts';
import { Server, type ServerOptions } from '../scripts/workbench/server.ts';
import { launchChromium } from '../support/chromium.ts';
import { withLimit } from './pages/timeLimit.ts';
import { type ThemeKind, WorkbenchPage } from './pages/workbenchPage.ts';

const themes: Record<ThemeKind, string> = {
	'vs-dark': 'Dark Modern',
	vs: 'Light Modern',
	'hc-black': 'Default High Contrast',
	'hc-light': 'Default High Contrast Light',
};

/** Laboratories of the running tests. */
const open = new Set<Laboratory>();

export class Laboratory {
	readonly workspace = mkdtempSync(join(tmpdir(), 'rl-ws-'));
	readonly server: Server;
	private readonly name: string;
	private readonly chrome: Browser;
	private readonly pages: WorkbenchPage[] = [];
	#pictured = false;

	private constructor(name: string, server: Server, chrome: Browser) {
		this.name = name;
		this.server = server;
		this.chrome = chrome;
		open.add(this);
	}

	/**
	 * Starts a workbench that stops when the test ends.
	 * @param options `serve: false`: the test starts a workbench itself
	 */
	static async open(
		t: TestContext,
		name: string,
		{ vsix, serve = true, ...options }: Partial<ServerOptions> & { vsix?: string; serve?: boolean } = {},
	): Promise<Laboratory> {
		const server = new Server({
			entry: await installCodeServer(console.log),
			log: join(artifacts, `e2e-${name}-server.log`),
			testDriver: true,
			...options,
		});
		const lab = new Laboratory(name, server, await launchChromium());
		// `passed` is missing from the Node 24 type declarations.
		t.after(() => lab.dispose(!(t as unknown as { passed: boolean }).passed));
		if (vsix !== undefined) await server.installExtension(vsix);
		if (serve) await server.start();
		return lab;
	}

	/** Opens the workspace with the extension, either built from source or (`installed`) as installed. */
	async workbench(options: BrowserContextOptions & { installed?: boolean } = {}): Promise<WorkbenchPage> {
		const { installed = false, ...context } = options;
		const page = new WorkbenchPage(await this.server.openPage(this.chrome, { colorScheme: 'dark', ...context }));
		this.pages.push(page);
		await page.open(this.server.url(this.workspace, installed ? undefined : { extension: root }));
		return page;
	}

	/** Browser that shows the workbench, for tests that open their own pages. */
	get browser(): Browser {
		return this.chrome;
	}

	/** Changes the color theme and waits until it is visible. */
	async setTheme(workbench: WorkbenchPage, kind: ThemeKind): Promise<void> {
		// Use workspace settings because the workbench does not watch its user settings. A change made before it knows its
		// themes is lost, and setting the same value again has no effect.
		const choose = (theme: string) => this.write('.vscode/settings.json', { 'workbench.colorTheme': theme });
		for (let attempt = 0; attempt < 15; attempt++) {
			choose(themes[kind]);
			if (await workbench.isThemed(kind)) return;
			choose(kind === 'vs' ? themes['vs-dark'] : themes.vs);
			await workbench.page.waitForTimeout(1000);
		}
		throw new Error(`The theme did not become ${kind}`);
	}

	/** Opens a page on a workbench served by another process. */
	async foreignWorkbench(url: string): Promise<WorkbenchPage> {
		const context = await this.chrome.newContext({
			viewport: { width: 1400, height: 900 },
			colorScheme: 'dark',
			// Otherwise, the workbench's progress bars would redraw all the time.
			reducedMotion: 'reduce',
		});
		const page = new WorkbenchPage(await context.newPage());
		this.pages.push(page);
		await page.open(url);
		return page;
	}

	write(path: string, content: string | object): string {
		const target = join(this.workspace, path);
		mkdirSync(join(target, '..'), { recursive: true });
		writeFileSync(target, typeof content === 'string' ? content : JSON.stringify(content, undefined, '\t'));
		return target;
	}

	/** Runs the project's CLI in the workbench's environment, so that both see the same runs. */
	async cli(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
		try {
			const { stdout, stderr } = await promisify(execFile)(node, [join(root, 'dist/cli.js'), ...args], {
				cwd: this.workspace,
				env: { ...process.env, ...this.server.environment },
				timeout: 120_000,
			});
			return { code: 0, stdout, stderr };
		} catch (error) {
			const { code, stdout = '', stderr = '' } = error as { code?: number; stdout?: string; stderr?: string };
			return { code: typeof code === 'number' ? code : 1, stdout, stderr };
		}
	}

	/**
	 * Starts the recipe in the active editor as the workspace's first run, and waits until it has finished. Returns its
	 * folder.
	 */
	async startRun(workbench: WorkbenchPage, seconds: number): Promise<string> {
		const actions = workbench.page.locator('.editor-actions');
		await actions
			.getByRole('button', { name: /Start Run/ })
			.first()
			.click();
		await waitUntil(() => this.runs().length === 1, 'the run exists');
		const [run = ''] = this.runs();
		const finished = () => existsSync(join(run, 'run.json')) && recordOf(run).status === 'finished';
		await waitUntil(finished, 'the run finishes', seconds);
		return run;
	}

	/** Returns the folders of the workspace's runs, oldest first. */
	runs(folder = '.'): string[] {
		const runs = join(this.workspace, folder, 'runs');
		try {
			return readdirSync(runs)
				.map((name) => join(runs, name))
				.filter((path) => statSync(path).isDirectory())
				.sort((a, b) => statSync(a).birthtimeMs - statSync(b).birthtimeMs);
		} catch {
			return [];
		}
	}

	async dispose(failed = false): Promise<void> {
		open.delete(this);
		if (failed) await this.pictureFailure();
		await withLimit(this.chrome.close(), answerTime, () =>
			console.log('The browser does not respond and was not closed.'),
		);
		await this.server.dispose();
		await this.endEngines();
		rmSync(this.workspace, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
	}

	/**
	 * Takes a screenshot to help diagnose a failure. Only the first failure of a test counts, because it is the cause.
	 */
	async pictureFailure(): Promise<void> {
		if (this.#pictured) return;
		this.#pictured = true;
		mkdirSync(screenshots, { recursive: true });
		for (const [i, { page }] of this.pages.entries()) {
			const path = join(screenshots, `${this.name}-failed${i > 0 ? `-${i}` : ''}.png`);
			// Playwright's own limit does not help if the browser no longer responds.
			const picture = page.screenshot({ path }).then(
				() => '',
				(error: unknown) => String(error),
			);
			const problem = await withLimit(picture, answerTime, () => 'the browser is not responding');
			if (problem !== '') console.log(`No screenshot of page ${i}: ${problem}`);
		}
	}

	/** Stops engines left in this workspace by a failed test. Engines are detached by design. */
	private async endEngines(): Promise<void> {
		for (const { pid } of enginesUnder(this.workspace)) {
			process.kill(pid, 'SIGKILL');
			await waitUntil(() => !isAlive(pid), 'the engine exits');
		}
	}
}

/** Maximum wait, in milliseconds, for a browser that may no longer respond. */
const answerTime = 30_000;

/** Maximum step time, in milliseconds. Below a test file's limit, so that a hanging step is named and captured. */
const longestStep = 400_000;

/** Runs subtests that build on each other: if one fails, the rest are skipped. */
export function inOrder(t: TestContext): (name: string, body: () => Promise<void>) => Promise<void> {
	return async (name, body) => {
		let failed = false;
		await t.test(name, async () => {
			try {
				await withLimit(body(), longestStep, () => {
					throw new Error(`"${name}" took longer than ${longestStep / 1000} s`);
				});
			} catch (error) {
				failed = true;
				for (const lab of open) await lab.pictureFailure();
				throw error;
			}
		});
		if (failed) throw new Error(`The steps after "${name}" were not tried.`);
	};
}

/** Returns the engines whose command line names a run inside `folder` (Linux). */
export function enginesUnder(folder: string): { readonly pid: number; readonly script: string }[] {
	const engines: { pid: number; script: string }[] = [];
	for (const name of readdirSync('/proc')) {
		if (!/^\d+$/.test(name)) continue;
		try {
			const [, script = '', ...args] = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0');
			if (
				!['engine.js', 'driver.js', 'pipeline.js'].some((name) => script.endsWith(name)) ||
				!args.some((arg) => arg.startsWith(folder))
			)
				continue;
			engines.push({ pid: Number(name), script });
		} catch {
			// It has ended.
		}
	}
	return engines;
}

export function isAlive(pid: number): boolean {
	try {
		return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
	} catch {
		return false;
	}
}

/** Polls until a condition holds. On timeout, the error names the condition. */
export async function waitUntil(
	condition: () => boolean | Promise<boolean>,
	what: string,
	seconds = 60,
): Promise<void> {
	const deadline = Date.now() + seconds * 1000;
	while (!(await condition())) {
		if (Date.now() > deadline) throw new Error(`Timed out after ${seconds} s waiting until ${what}`);
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
}

/** Returns the complete lines of a JSONL file. */
export function readLines<T>(path: string): T[] {
	let text: string;
	try {
		text = readFileSync(path, 'utf8');
	} catch {
		return [];
	}
	return text
		.slice(0, text.lastIndexOf('\n') + 1)
		.split('\n')
		.filter((line) => line !== '')
		.map((line) => JSON.parse(line));
}

/** Returns the steps in a run's metrics.jsonl, in file order. */
export function stepsOf(run: string): number[] {
	return readLines<{ step: number }>(join(run, 'metrics.jsonl')).map(({ step }) => step);
}

export interface RecordedRun {
	readonly name: string;
	readonly engine: string;
	readonly id: string;
	readonly status: string;
	readonly step: number;
	readonly totalSteps: number | null;
	readonly pid: number;
	readonly attempt: number;
	readonly parent: { readonly run: string } | null;
}

/** Reads a run's run.json or a pipeline's pipeline.json, which are replaced atomically and can be read at any time. */
export function recordOf<T = RecordedRun>(folder: string, file = 'run.json'): T {
	return JSON.parse(readFileSync(join(folder, file), 'utf8'));
}
