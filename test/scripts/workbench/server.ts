/** A running browser workbench: a code-server process with its own folders on a free loopback port. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
	closeSync,
	existsSync,
	fstatSync,
	mkdirSync,
	mkdtempSync,
	openSync,
	readFileSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { node } from '../paths.ts';
import { endGroup, run, tail } from '../process.ts';

export interface ServerOptions {
	/** code-server's entry script; see install.ts. */
	readonly entry: string;
	readonly log: string;
	/** User settings for the workbench, in addition to quiet defaults. */
	readonly settings?: Readonly<Record<string, unknown>>;
	/**
	 * Whether the page can load an extension from its source folder and run test suites in the extension host. If so, the
	 * workbench shows neither notification toasts nor dialogs.
	 */
	readonly testDriver?: boolean;
	readonly env?: Readonly<Record<string, string | undefined>>;
	/** Folders of extensions to load as built-in extensions. Requires the test driver. */
	readonly extensions?: readonly string[];
	/** Whether folders open in Restricted Mode until the user trusts them. By default, every folder is trusted. */
	readonly restricted?: boolean;
	/** Folder for user data and extensions. Defaults to a temporary folder that `dispose` removes. */
	readonly home?: string;
	/** Defaults to a free port. */
	readonly port?: number;
}

/**
 * The editor's own extensions included in a test workbench with the test driver: those needed to edit, show and debug
 * our files. The others would be read and started on every load for no benefit. TypeScript's language server, which any
 * reward would start, runs in test/e2e/demo.test.ts.
 */
const editorExtensions = [
	'diff',
	'javascript',
	'json',
	'json-language-features',
	'log',
	'markdown-basics',
	'markdown-language-features',
	'markdown-math',
	'ms-vscode.js-debug',
	'ms-vscode.js-debug-companion',
	'python',
	'theme-defaults',
	'theme-seti',
	'typescript-basics',
	'yaml',
];

const quietSettings = {
	'workbench.startupEditor': 'none',
	'workbench.tips.enabled': false,
	'workbench.secondarySideBar.defaultVisibility': 'hidden',
	'chat.disableAIFeatures': true,
	'telemetry.telemetryLevel': 'off',
	'extensions.autoCheckUpdates': false,
	'extensions.autoUpdate': false,
	'extensions.ignoreRecommendations': true,
	'update.mode': 'none',
	'git.enabled': false,
	// Every frame is rendered on the CPU here.
	'workbench.reduceMotion': 'on',
	'editor.cursorBlinking': 'solid',
	'terminal.integrated.cursorBlinking': false,
	// Port detection lists the open files of every process every two seconds.
	'remote.autoForwardPorts': false,
};

/** Opens folders as untrusted without asking. */
const restrictedSettings = {
	'security.workspace.trust.enabled': true,
	'security.workspace.trust.startupPrompt': 'never',
	'security.workspace.trust.banner': 'never',
	'security.workspace.trust.untrustedFiles': 'open',
	// Show the trust editor as an ordinary tab.
	'workbench.editor.useModal': 'off',
};

export class Server {
	readonly options: ServerOptions;
	readonly home: string;
	/** Folder for sockets, whose paths are limited to about 104 bytes. */
	private readonly runtime = mkdtempSync(join(tmpdir(), 'rl-'));
	/** Keeps other users of this machine out of the workbench. */
	readonly password: string = randomBytes(18).toString('base64url');
	readonly environment: Record<string, string | undefined>;
	port = 0;
	private child: ChildProcess | undefined;

	constructor(options: ServerOptions) {
		this.options = options;
		this.home = options.home ?? join(this.runtime, 'home');
		for (const name of ['data/User', 'extensions', 'config', 'share', 'cache', 'state']) {
			mkdirSync(join(this.home, name), { recursive: true });
		}
		// Otherwise it would write to the user's home folder.
		this.environment = {
			XDG_CONFIG_HOME: join(this.home, 'config'),
			XDG_DATA_HOME: join(this.home, 'share'),
			XDG_CACHE_HOME: join(this.home, 'cache'),
			XDG_STATE_HOME: join(this.home, 'state'),
			XDG_RUNTIME_DIR: this.runtime,
			PATH: `${dirname(node)}:${process.env.PATH ?? ''}`,
			EXTENSIONS_GALLERY: '{}',
			// With a plain password, every request would be checked with a slow hash, which takes half of the server's time
			// for opening a page.
			HASHED_PASSWORD: createHash('sha256').update(this.password).digest('hex'),
			...options.env,
		};
		writeFileSync(join(this.home, 'server.yaml'), 'cert: false\n');
		writeFileSync(
			join(this.home, 'data/User/settings.json'),
			JSON.stringify(
				{ ...quietSettings, ...(options.restricted ? restrictedSettings : {}), ...options.settings },
				undefined,
				'\t',
			),
		);
	}

	get origin(): string {
		return `http://127.0.0.1:${this.port}`;
	}

	/** Installs a packaged extension in this workbench. Must be called before `start`. */
	async installExtension(vsix: string): Promise<void> {
		const code = await run(node, [...this.arguments(), '--install-extension', vsix], {
			env: this.environment,
			log: this.options.log,
			timeoutSeconds: 120,
		});
		if (code !== 0) throw new Error(`The extension could not be installed:\n${tail(this.options.log, 15)}`);
	}

	/** Resolves once the server responds. */
	async start(): Promise<void> {
		mkdirSync(dirname(this.options.log), { recursive: true });
		const log = openSync(this.options.log, 'a');
		const from = fstatSync(log).size;
		const address = `127.0.0.1:${this.options.port ?? 0}`;
		const flags = ['--auth', 'password', '--bind-addr', address];
		if (!this.options.restricted) flags.push('--disable-workspace-trust');
		if (this.options.testDriver)
			flags.push('--vscode-option', 'enable-smoke-test-driver', '--builtin-extensions-dir', this.editorExtensions());
		flags.push('--vscode-option', 'disable-websocket-compression');
		this.child = spawn(node, [...this.arguments(), ...flags], {
			env: { ...process.env, ...this.environment },
			stdio: ['ignore', log, log],
			detached: true,
		});
		closeSync(log);
		const child = this.child;
		for (let waited = 0; waited < 60_000; waited += 50) {
			if (child.exitCode !== null) break;
			const port = /HTTP server listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(
				readFileSync(this.options.log).subarray(from).toString(),
			)?.[1];
			if (port !== undefined) {
				this.port = Number(port);
				return;
			}
			await new Promise((resolve) => setTimeout(resolve, 50));
		}
		await this.dispose();
		throw new Error(
			`The browser workbench did not start; its log is ${this.options.log}:\n${tail(this.options.log, 15)}`,
		);
	}

	/** Resolves when the server exits on its own. */
	ended(): Promise<void> {
		const child = this.child;
		if (child === undefined || child.exitCode !== null) return Promise.resolve();
		return new Promise((resolve) => child.once('exit', () => resolve()));
	}

	/** Returns the workbench URL with a folder open and, in development mode, an extension loaded from its sources. */
	url(folder: string, development?: { readonly extension: string; readonly suites?: string }): string {
		const url = new URL(this.origin);
		url.searchParams.set('folder', folder);
		if (development !== undefined) {
			const remote = (path: string) => `vscode-remote://127.0.0.1:${this.port}${path}`;
			const payload = [['extensionDevelopmentPath', remote(development.extension)]];
			if (development.suites !== undefined) payload.push(['extensionTestsPath', remote(development.suites)]);
			url.searchParams.set('payload', JSON.stringify(payload));
		}
		return url.toString();
	}

	/** Opens a new page that is already logged in. */
	async openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
		const context = await browser.newContext({
			viewport: { width: 1400, height: 900 },
			reducedMotion: 'reduce',
			...options,
		});
		await context.addInitScript(stillWorkbench);
		// Get the login cookie the way the login form would.
		const answer = await context.request.post(`${this.origin}/login`, { form: { password: this.password } });
		if (!answer.ok()) throw new Error(`The workbench rejected the login (${answer.status()}).`);
		return context.newPage();
	}

	async dispose(): Promise<void> {
		if (this.child !== undefined && this.child.exitCode === null) {
			endGroup(this.child);
			await this.ended();
		}
		rmSync(this.runtime, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
	}

	/** Creates a folder with a subset of the editor's own extensions. */
	private editorExtensions(): string {
		const folder = join(this.home, 'editor-extensions');
		const all = join(dirname(this.options.entry), '../../lib/vscode/extensions');
		mkdirSync(folder, { recursive: true });
		for (const name of editorExtensions) {
			if (!existsSync(join(all, name))) throw new Error(`The editor no longer has the extension ${name}`);
			if (!existsSync(join(folder, name))) symlinkSync(join(all, name), join(folder, name), 'dir');
		}
		for (const extension of this.options.extensions ?? [])
			symlinkSync(extension, join(folder, basename(extension)), 'dir');
		return folder;
	}

	private arguments(): string[] {
		return [
			this.options.entry,
			'--config',
			join(this.home, 'server.yaml'),
			'--user-data-dir',
			join(this.home, 'data'),
			'--extensions-dir',
			join(this.home, 'extensions'),
			'--session-socket',
			join(this.runtime, 'session.sock'),
			'--disable-telemetry',
			'--disable-update-check',
			'--disable-getting-started-override',
			// Otherwise extension hosts of closed pages would linger for three hours.
			'--reconnection-grace-time',
			'10',
		];
	}
}

/**
 * Disables animations. Runs in each frame before its own scripts. Every frame is rendered on the CPU here, and spinners
 * and progress bars would use as much CPU time as all tests together.
 */
function stillWorkbench(): void {
	if (window !== window.top) return;
	const sheet = new CSSStyleSheet();
	sheet.replaceSync('*, *::before, *::after { animation: none !important; transition: none !important; }');
	document.adoptedStyleSheets = [sheet];
}
