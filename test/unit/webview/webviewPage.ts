import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { appHtml } from '../../../src/extension/panels/webviewHtml.ts';
import { lateMs } from './lateness.ts';
import { quickViolations } from './quickViolations.ts';
import { type ThemeName, themes } from './vscodeThemes.ts';

/**
 * Whether to check pages completely, as `npm run acceptance -- pageLooks` does: axe then checks all rules, including
 * contrast, wherever it checks any.
 */
export const complete = process.env.TEST_LOOKS === 'all';
const bundles = join(import.meta.dirname, '../../../dist/webview');

/** Modifies messages between a panel and its page. */
export interface Alteration {
	/** @param method method of the request that the message answers, or null if it is not a response */
	toPage(message: unknown, method: string | null): unknown;
	fromPage(message: unknown): unknown;
}

export interface WebviewOptions {
	readonly app:
		| 'dashboard'
		| 'rollouts'
		| 'verification'
		| 'query'
		| 'transcript'
		| 'comparison'
		| 'runTable'
		| 'pipelineGraph'
		| 'newSearch'
		| 'report'
		| 'tree'
		| 'strategies'
		| 'dataset'
		| 'playground'
		| 'episode';
	readonly theme?: ThemeName;
	readonly width?: number;
	readonly height?: number;
	/** State that the app saved earlier. */
	readonly state?: unknown;
	readonly reducedMotion?: boolean;
	readonly alteration?: Alteration;
	/** Receives messages that the app posts, like a panel does. */
	readonly onMessage: (message: unknown) => void;
}

export interface Webview {
	readonly page: Page;
	/** Initial theme. */
	readonly theme: ThemeName;
	/** Changes the theme like VS Code does for an open webview; resolves once the app has redrawn. */
	setTheme(theme: ThemeName): Promise<void>;
	/** Posts a message like a panel does. */
	post(message: unknown): Promise<void>;
	/** Makes the app save pending changes, as when its tab is hidden, and resolves with the state that it saved last. */
	state(): Promise<unknown>;
	/** Page errors: exceptions, console errors and content security policy violations. */
	readonly errors: readonly string[];
	/**
	 * Finds accessibility violations, one line each, with axe-core and `quickViolations`. @param rules 'colors' for only
	 * the color rules, 'names' for these and the names of controls; default: all
	 */
	violations(rules?: Rules): Promise<string[]>;
	close(): Promise<void>;
}

export type Rules = 'all' | 'colors' | 'names';

/** The webview that a page currently shows. */
interface Shown {
	readonly onMessage: (message: unknown) => void;
	readonly errors: string[];
}

interface Pane {
	readonly context: BrowserContext;
	readonly page: Page;
	/** Origin of the pages; its server closes with the browser. */
	readonly origin: string;
	shown: Shown | undefined;
	/** Webview to show from the next navigation on. */
	next: Shown | undefined;
}

/**
 * Panes whose webview was closed, kept for reuse because opening a pane takes several times as long as loading a
 * document in it. Documents share nothing; apps persist their state with `setState`. An idle pane keeps its document,
 * whose messages are ignored, until the next one is loaded.
 */
const idle = new WeakMap<Browser, Pane[]>();
const origins = new WeakMap<Browser, Promise<string>>();

/** Serves the page of each app at `/APP`, along with the build output. @returns the origin */
async function serve(browser: Browser): Promise<string> {
	let origin = '';
	const files = new Map<string, Buffer>();
	const answer = async (name: string, response: ServerResponse): Promise<void> => {
		const end = /^(\w+)(\.js|\.css)?$/.exec(name)?.[2];
		const type = { '.js': 'text/javascript', '.css': 'text/css' }[end ?? ''] ?? 'text/html';
		response.setHeader('content-type', `${type}; charset=utf-8`);
		if (end === undefined) {
			const [script, style] = [`${origin}/${name}.js`, `${origin}/${name}.css`];
			response.end(appHtml({ cspSource: origin, script, style }, name));
			return;
		}
		const file = files.get(name) ?? (await readFile(join(bundles, name)));
		files.set(name, file);
		// Browsers cache compiled code together with cached responses.
		response.setHeader('cache-control', 'max-age=3600, immutable').end(file);
	};
	const server = createServer((request, response) => {
		const name = (request.url ?? '').slice(1);
		if (name === 'favicon.ico') response.writeHead(204).end();
		else answer(name, response).catch((error: unknown) => response.writeHead(404).end(String(error)));
	});
	server.on('connection', (socket) => socket.unref());
	server.listen(0, '127.0.0.1').unref();
	await once(server, 'listening');
	origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	browser.once('disconnected', () => server.close());
	return origin;
}

async function openPane(browser: Browser): Promise<Pane> {
	const free = idle.get(browser)?.pop();
	if (free) return free;
	let serving = origins.get(browser);
	if (serving === undefined) {
		serving = serve(browser);
		origins.set(browser, serving);
	}
	const origin = await serving;
	const context = await browser.newContext({ forcedColors: 'none' });
	const page = await context.newPage();
	if (lateMs > 0) await page.addInitScript(delayFrames, lateMs);
	const pane: Pane = { context, page, origin, shown: undefined, next: undefined };
	page.on('framenavigated', () => {
		pane.shown = pane.next;
	});
	page.on('pageerror', (error) => pane.shown?.errors.push(String(error)));
	page.on('console', (message) => {
		if (message.type() === 'error') pane.shown?.errors.push(message.text());
	});
	page.on('request', (request) => {
		const url = request.url();
		if (!url.startsWith(`${origin}/`) && !url.startsWith('blob:')) pane.shown?.errors.push(`The page asked for ${url}`);
	});
	// Checking on every frame, as Playwright does by default, takes ten times as much CPU time.
	const waitForFunction = page.waitForFunction.bind(page) as (f: never, argument: unknown, how: object) => unknown;
	Object.assign(page, {
		waitForFunction: (f: never, argument: unknown, how?: object) =>
			waitForFunction(f, argument, { polling: 50, ...how }),
	});
	await page.exposeFunction('hostPost', (text: string) => pane.shown?.onMessage(JSON.parse(text, revive)));
	return pane;
}

/** Makes the pane available to another webview. */
async function freePane(browser: Browser, pane: Pane): Promise<void> {
	pane.shown = undefined;
	pane.next = undefined;
	await pane.page.mouse.move(0, 0);
	const panes = idle.get(browser);
	if (panes) panes.push(pane);
	else idle.set(browser, [pane]);
}

/**
 * Opens an app's own bundle in a browser like VS Code does: its page with its content security policy, the theme's
 * variables and attributes, and the three functions of `acquireVsCodeApi`. Nothing is loaded from the network.
 */
export async function openWebview(browser: Browser, options: WebviewOptions): Promise<Webview> {
	const {
		app,
		theme = 'dark',
		width = 1200,
		height = 800,
		state,
		onMessage,
		reducedMotion = true,
		alteration,
	} = options;
	const pane = await openPane(browser);
	const { page } = pane;
	const errors: string[] = [];
	const methods = new Map<unknown, string>();
	pane.next = {
		errors,
		onMessage: (message) => {
			const { kind, id, method } = message as { kind?: unknown; id?: unknown; method?: unknown };
			if (alteration && kind === 'request') methods.set(id, String(method));
			const received = alteration ? alteration.fromPage(message) : message;
			if (lateMs === 0) onMessage(received);
			else setTimeout(() => onMessage(received), lateMs);
		},
	};
	const size = page.viewportSize();
	if (size?.width !== width || size.height !== height) await page.setViewportSize({ width, height });
	await page.emulateMedia({ reducedMotion: reducedMotion ? 'reduce' : 'no-preference' });
	const preparation = await page.addInitScript(prepare, { saved: state, theme: themes[theme], still: reducedMotion });
	await page.goto(`${pane.origin}/${app}`);
	let open = true;
	return {
		page,
		theme,
		errors,
		setTheme: (next) =>
			page.evaluate(async (to) => {
				(window as unknown as { wearTheme(theme: unknown): void }).wearTheme(to);
				// Redrawing takes place in the next frame.
				for (let i = 0; i < 2; i++) await new Promise((resolve) => requestAnimationFrame(resolve));
			}, themes[next]),
		post: async (message) => {
			if (!open) throw new Error('The webview is closed');
			const { id } = message as { id?: unknown };
			const sent = alteration ? alteration.toPage(message, methods.get(id) ?? null) : message;
			await page.evaluate(
				([data, late]) => {
					if (late === 0) window.postMessage(data, '*');
					else setTimeout(() => window.postMessage(data, '*'), late);
				},
				[sent, lateMs] as const,
			);
		},
		state: () =>
			page.evaluate(() => {
				document.dispatchEvent(new Event('visibilitychange'));
				return (window as unknown as { savedState: unknown }).savedState;
			}),
		violations: (rules = 'all') => violations(page, rules),
		close: async () => {
			if (!open) return;
			open = false;
			await preparation.dispose();
			await freePane(browser, pane);
		},
	};
}

/** Runs in the page before its own script and provides what VS Code gives a webview. */
function prepare({ saved, theme, still }: { saved: unknown; theme: (typeof themes)[ThemeName]; still: boolean }): void {
	const api = window as unknown as { hostPost(text: string): void; savedState: unknown };
	api.savedState = saved;
	let worn: { kind: string; variables: object } | undefined;
	/** Applies the theme to the document like VS Code does, once the body exists. */
	const wearTheme = (next: { kind: string; variables: Readonly<Record<string, string>> }) => {
		const { style } = document.documentElement;
		for (const name of Object.keys(worn?.variables ?? {})) style.removeProperty(`--vscode-${name}`);
		for (const [name, value] of Object.entries(next.variables)) {
			if (value !== '') style.setProperty(`--vscode-${name}`, value);
		}
		if (worn) document.body.classList.remove(worn.kind);
		document.body.classList.add(next.kind);
		document.body.dataset.vscodeThemeKind = next.kind;
		worn = next;
	};
	Object.assign(window, {
		wearTheme,
		acquireVsCodeApi: () => ({
			postMessage: (message: unknown) =>
				api.hostPost(
					JSON.stringify(message, (_, value) =>
						value instanceof Uint8Array ? { $bytes: (value as Uint8Array & { toBase64(): string }).toBase64() } : value,
					),
				),
			getState: () => api.savedState,
			setState: (next: unknown) => {
				api.savedState = structuredClone(next);
			},
		}),
	});
	new MutationObserver((_, observer) => {
		if (!document.body) return;
		observer.disconnect();
		wearTheme(theme);
		if (still) document.body.classList.add('vscode-reduce-motion');
	}).observe(document, { childList: true, subtree: true });
}

/** Delays the frames of a page by a time in milliseconds. */
function delayFrames(late: number): void {
	const request = window.requestAnimationFrame.bind(window);
	const waiting = new Set<number>();
	let last = 0;
	window.requestAnimationFrame = (callback) => {
		const id = ++last;
		waiting.add(id);
		setTimeout(() => request((time) => waiting.delete(id) && callback(time)), late);
		return id;
	};
	window.cancelAnimationFrame = (id) => {
		waiting.delete(id);
	};
}

/** Decodes bytes, which are transferred as base64 here but natively in VS Code. */
function revive(_key: string, value: unknown): unknown {
	const bytes = (value as { $bytes?: unknown } | null)?.$bytes;
	return typeof bytes === 'string' ? new Uint8Array(Buffer.from(bytes, 'base64')) : value;
}

/** Tags of the rules to check. */
const checkedTags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'];
/** The rules that depend on colors. The first takes more time than all others together, so `quickViolations` replaces it. */
const contrastRule = 'color-contrast';
const linkRule = 'link-in-text-block';

async function violations(page: Page, rules: Rules): Promise<string[]> {
	const { texts, names, links } = await page.evaluate(quickViolations);
	const found = rules === 'colors' ? texts : [...texts, ...names];
	if (rules === 'all' || (complete && rules === 'names')) {
		return [...found, ...(await axeViolations(page, undefined, complete ? [] : [contrastRule]))];
	}
	const wanted = [...(complete ? [contrastRule] : []), ...(complete || links ? [linkRule] : [])];
	return wanted.length === 0 ? found : [...found, ...(await axeViolations(page, wanted, []))];
}

/** @param only rules to check; default: all with one of the tags @param except rules to omit */
async function axeViolations(
	page: Page,
	only: readonly string[] | undefined,
	except: readonly string[],
): Promise<string[]> {
	// The page's policy blocks third-party scripts but does not apply to evaluation through the debugger.
	if (!(await page.evaluate(() => 'axe' in window))) {
		await page.evaluate(await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'));
	}
	return page.evaluate(
		async ({ tags, only, except }) => {
			interface Node {
				html: string;
				failureSummary?: string;
			}
			const { axe } = window as unknown as {
				axe: { run(options: object): Promise<{ violations: { id: string; help: string; nodes: Node[] }[] }> };
			};
			const result = await axe.run({
				runOnly: only === undefined ? { type: 'tag', values: tags } : { type: 'rule', values: only },
				rules: Object.fromEntries(except.map((rule) => [rule, { enabled: false }])),
				// Passing results are unused, and describing them takes most of the time.
				resultTypes: ['violations'],
				selectors: false,
				preload: false,
			});
			return result.violations.flatMap(({ id, help, nodes }) =>
				nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html.slice(0, 160)} ${failureSummary ?? ''}`),
			);
		},
		{ tags: checkedTags, only, except },
	);
}
