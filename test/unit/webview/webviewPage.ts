import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import * as esbuild from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import { bundles } from '../../../esbuild.mjs';
import { appHtml } from '../../../src/host/panels/webviewHtml.ts';
import { type ThemeName, themes } from './vscodeThemes.ts';

const root = join(import.meta.dirname, '../../..');
const origin = 'https://webview.invalid';

export interface WebviewOptions {
	readonly app:
		| 'dashboard'
		| 'rollouts'
		| 'verification'
		| 'query'
		| 'transcript'
		| 'comparison'
		| 'tree'
		| 'strategies'
		| 'dataset'
		| 'playground';
	readonly theme?: ThemeName;
	readonly width?: number;
	readonly height?: number;
	/** What the app saved before. */
	readonly state?: unknown;
	readonly reducedMotion?: boolean;
	/** What the app posts, as its panel receives it. */
	readonly onMessage: (message: unknown) => void;
}

export interface Webview {
	readonly page: Page;
	/** Posts as a panel does. */
	post(message: unknown): Promise<void>;
	/** What the app saved last. */
	state(): Promise<unknown>;
	/** Errors of the page: exceptions, console errors, violations of the content security policy. */
	readonly errors: readonly string[];
	/** Accessibility violations that axe-core finds, one line each. */
	violations(): Promise<string[]>;
	close(): Promise<void>;
}

const built = new Map<string, Promise<{ script: string; style: string }>>();

async function build(app: WebviewOptions['app']): Promise<{ script: string; style: string }> {
	const result = await esbuild.build({ ...bundles()[app], absWorkingDir: root, write: false, sourcemap: false });
	const file = (end: string) => result.outputFiles?.find(({ path }) => path.endsWith(end))?.text ?? '';
	return { script: file('.js'), style: file('.css') };
}

/**
 * Opens an app's own bundle in a browser as VS Code does: its page with its content security policy, the theme's variables
 * and marks, and the three functions of `acquireVsCodeApi`. Nothing is loaded from a network.
 */
export async function openWebview(browser: Browser, options: WebviewOptions): Promise<Webview> {
	const { app, theme = 'dark', width = 1200, height = 800, state, onMessage, reducedMotion = true } = options;
	let bundle = built.get(app);
	if (!bundle) {
		bundle = build(app);
		built.set(app, bundle);
	}
	const { script, style } = await bundle;
	const context = await browser.newContext({
		viewport: { width, height },
		reducedMotion: reducedMotion ? 'reduce' : 'no-preference',
		forcedColors: 'none',
	});
	const page = await context.newPage();
	const errors: string[] = [];
	page.on('pageerror', (error) => errors.push(String(error)));
	page.on('console', (message) => {
		if (message.type() === 'error') errors.push(message.text());
	});
	const html = appHtml({ cspSource: origin, script: `${origin}/app.js`, style: `${origin}/app.css` }, app);
	const files: Readonly<Record<string, readonly [string, string]>> = {
		'/': [html, 'text/html'],
		'/app.js': [script, 'text/javascript'],
		'/app.css': [style, 'text/css'],
	};
	await context.route('**', async (route) => {
		const url = new URL(route.request().url());
		const file = url.origin === origin ? files[url.pathname] : undefined;
		if (file) await route.fulfill({ body: file[0], contentType: `${file[1]}; charset=utf-8` });
		else {
			if (url.pathname !== '/favicon.ico') errors.push(`The page asked for ${url.href}`);
			await route.abort();
		}
	});
	await page.exposeFunction('hostPost', (text: string) => onMessage(JSON.parse(text, revive)));
	const { kind, variables } = themes[theme];
	await page.addInitScript(
		({ saved, mark, colours, still }) => {
			const api = window as unknown as { hostPost(text: string): void; savedState: unknown };
			api.savedState = saved;
			Object.assign(window, {
				acquireVsCodeApi: () => ({
					postMessage: (message: unknown) =>
						api.hostPost(
							JSON.stringify(message, (_, value) =>
								value instanceof Uint8Array
									? { $bytes: (value as Uint8Array & { toBase64(): string }).toBase64() }
									: value,
							),
						),
					getState: () => api.savedState,
					setState: (next: unknown) => {
						api.savedState = structuredClone(next);
					},
				}),
			});
			const dress = () => {
				for (const [name, value] of Object.entries(colours)) {
					if (value !== '') document.documentElement.style.setProperty(`--vscode-${name}`, value);
				}
				document.body.classList.add(mark, ...(still ? ['vscode-reduce-motion'] : []));
				document.body.dataset.vscodeThemeKind = mark;
			};
			new MutationObserver((_, observer) => {
				if (!document.body) return;
				observer.disconnect();
				dress();
			}).observe(document, { childList: true, subtree: true });
		},
		{ saved: state, mark: kind, colours: variables as Readonly<Record<string, string>>, still: reducedMotion },
	);
	await page.goto(`${origin}/`);
	return {
		page,
		errors,
		post: (message) => page.evaluate((data) => window.postMessage(data, '*'), message),
		state: () => page.evaluate(() => (window as unknown as { savedState: unknown }).savedState),
		violations: () => violations(page),
		close: () => context.close(),
	};
}

/** Bytes cross as base64 here; VS Code hands them over as they are. */
function revive(_key: string, value: unknown): unknown {
	const bytes = (value as { $bytes?: unknown } | null)?.$bytes;
	return typeof bytes === 'string' ? new Uint8Array(Buffer.from(bytes, 'base64')) : value;
}

async function violations(page: Page): Promise<string[]> {
	// The page's policy allows no foreign script; an evaluation by the debugger is not subject to it.
	if (!(await page.evaluate(() => 'axe' in window))) {
		await page.evaluate(await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'));
	}
	return page.evaluate(async () => {
		interface Node {
			html: string;
			failureSummary?: string;
		}
		const axe = (
			window as unknown as {
				axe: { run(options: object): Promise<{ violations: { id: string; help: string; nodes: Node[] }[] }> };
			}
		).axe;
		const result = await axe.run({
			runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] },
			// Of what passes nothing is read here, and to describe it takes most of the time.
			resultTypes: ['violations'],
			selectors: false,
			preload: false,
		});
		return result.violations.flatMap(({ id, help, nodes }) =>
			nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html.slice(0, 160)} ${failureSummary ?? ''}`),
		);
	});
}
