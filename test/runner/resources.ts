/** Resources prepared once for all test files: the browser, the workbench, the Python environment, bubblewrap. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { findBubblewrap } from '../scripts/bubblewrap.ts';
import { node } from '../scripts/paths.ts';
import { endGroup } from '../scripts/process.ts';
import { findTestPython, pythonEnvironment } from '../scripts/pythonEnvironment.ts';
import { browserEnvironment, findChromium } from '../scripts/workbench/chromium.ts';
import { installCodeServer } from '../scripts/workbench/install.ts';
import { loadedEnvironment } from '../support/loadedPython.ts';
import { findSoftwareGpu, missingVariable } from '../support/softwareGpu.ts';

export type ResourceName = 'browser' | 'workbench' | 'python' | 'bubblewrap' | 'gpu';

export interface Preparation {
	/** Expected duration with a warm cache. */
	readonly seconds: number;
	/** Resources that must be prepared first. */
	readonly needs?: readonly ResourceName[];
	/**
	 * Resources that are prepared first if they are needed at all, because both use the system's package manager, which
	 * cannot run in parallel.
	 */
	readonly after?: readonly ResourceName[];
	/**
	 * Throws if tests that need the resource must not start. If the resource is unavailable here, its tests are skipped
	 * instead.
	 */
	prepare(resources: Resources): Promise<void>;
}

/** The prepared resources and the information tests need about them. */
export class Resources {
	/** Environment variables for the tests. */
	readonly environment: Record<string, string> = {};
	/**
	 * Environment of tests on the software GPU. Only they get it, because otherwise `auto` would try that GPU in every
	 * run.
	 */
	gpu: Readonly<Record<string, string>> = {};
	/** Process id of the shared browser. */
	browserPid: number | undefined;
	readonly #children: ChildProcess[] = [];
	readonly say: (line: string) => void;
	readonly #env: Readonly<Record<string, string>>;

	/** @param env variables for the servers, added to this process's environment */
	constructor(say: (line: string) => void, env: Readonly<Record<string, string>>) {
		this.say = say;
		this.#env = env;
	}

	/**
	 * Starts a server that runs until the tests are over, and resolves with its first line of output.
	 * @param env variables added to those of all servers
	 */
	async serve(
		program: string,
		args: readonly string[],
		env: Readonly<Record<string, string>> = {},
	): Promise<{ readonly line: string; readonly pid: number }> {
		const child = spawn(program, args, {
			env: { ...process.env, ...this.#env, ...env },
			stdio: ['pipe', 'pipe', 'inherit'],
			detached: process.platform !== 'win32',
		});
		this.#children.push(child);
		const line = await new Promise<string>((resolve, reject) => {
			let text = '';
			child.stdout?.setEncoding('utf8').on('data', (more: string) => {
				text += more;
				if (text.includes('\n')) resolve(text.slice(0, text.indexOf('\n')));
			});
			child.once('error', reject);
			child.once('exit', (code) => reject(new Error(`${program} ${args[0]} ended with exit status ${code}`)));
		});
		return { line, pid: child.pid as number };
	}

	/** Stops all servers. */
	async dispose(): Promise<void> {
		await Promise.all(
			this.#children.splice(0).map(async (child) => {
				if (child.exitCode !== null || child.signalCode !== null) return;
				const exited = new Promise((resolve) => child.once('exit', resolve));
				child.stdin?.end();
				const timer = setTimeout(() => endGroup(child), 5000);
				await exited;
				clearTimeout(timer);
			}),
		);
	}
}

export const preparations: Readonly<Record<ResourceName, Preparation>> = {
	browser: {
		seconds: 2,
		// The unit tests wait for bubblewrap, which is installed in a few seconds.
		after: ['bubblewrap'],
		async prepare(resources) {
			const found = await findChromium(resources.say);
			Object.assign(resources.environment, browserEnvironment(found));
			if ('missing' in found) return resources.say(`Browser tests are skipped: ${found.missing}.`);
			const program = join(import.meta.dirname, 'browserServer.ts');
			const { line, pid } = await resources.serve(node, [program, JSON.stringify(found.launch)]);
			resources.environment.TEST_BROWSER_SERVER = line;
			resources.browserPid = pid;
		},
	},
	gpu: {
		seconds: 1,
		needs: ['browser'],
		async prepare(resources) {
			const found = findSoftwareGpu(await findChromium(resources.say));
			resources.gpu = 'missing' in found ? { [missingVariable]: found.missing } : found.environment;
			if ('missing' in found) resources.say(`GPU tests are skipped: ${found.missing}.`);
		},
	},
	bubblewrap: {
		seconds: 1,
		async prepare({ say }) {
			const missing = await findBubblewrap(say);
			if (missing !== null) say(`Sandbox tests are skipped: ${missing}.`);
		},
	},
	python: {
		seconds: 40,
		async prepare(resources) {
			const found = await findTestPython(resources.say);
			Object.assign(resources.environment, pythonEnvironment(found));
			if ('missing' in found) return resources.say(`Tests with other trainers are skipped: ${found.missing}.`);
			if (process.platform === 'win32') return;
			const program = join(import.meta.dirname, '../support/loaded_python.py');
			const { line } = await resources.serve(found.python, [program], loadedEnvironment);
			resources.environment.TEST_LOADED_PYTHON = line;
		},
	},
	workbench: {
		seconds: 30,
		async prepare({ say }) {
			await installCodeServer(say);
		},
	},
};
