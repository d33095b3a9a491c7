import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { Replay } from '../../src/core/search/replay.ts';
import { treeEventLines } from '../../src/protocol/treeEventReader.ts';
import { launchChromium, skip } from '../support/chromium.ts';
import { mctsEvents } from '../support/treeEvents.ts';
import type { Bench, BenchOptions, Measurement } from './measurement.ts';
import type { TreeHostStats } from './treeHost.ts';

/** Number of nodes including the problem, which the page does not count. */
const nodes = 50_000;
const logged = 50_000;
/** Nodes added per second, duration in seconds, and initial number of nodes. */
const growth = { rate: 1000, seconds: 4, before: 5000 } as const;

/** Records when the page draws the tree, by inspecting its canvas. */
async function watch(page: Page): Promise<void> {
	await page.addInitScript((expected) => {
		const times: { first?: number; all?: number } = {};
		Object.assign(window, { times });
		const inked = (): boolean => {
			const canvas = document.querySelector<HTMLCanvasElement>('.tree-canvas');
			const context = canvas?.getContext('2d', { willReadFrequently: false });
			if (!canvas || !context || canvas.width === 0) return false;
			const { data } = context.getImageData(0, canvas.height / 4, canvas.width, canvas.height / 2);
			let count = 0;
			for (let i = 3; i < data.length; i += 4) if (data[i] !== 0) count++;
			return count > 200;
		};
		const now = () => performance.timeOrigin + performance.now();
		const look = (): void => {
			if (times.first === undefined && inked()) times.first = now();
			const facts = (document.querySelector('.facts')?.textContent ?? '').replace(/\D*nodes.*|[^\d]/g, '');
			if (times.first !== undefined && facts.endsWith(String(expected))) times.all = now();
			else setTimeout(look, 15);
		};
		setTimeout(look, 15);
	}, nodes - 1);
}

/** Sends one wheel or drag event per frame, like a user. @returns milliseconds between frames */
function frames(page: Page, gesture: 'zoom' | 'pan'): Promise<number[]> {
	return page.evaluate(async (kind) => {
		const stage = document.querySelector<HTMLElement>('.tree-stage') as HTMLElement;
		const box = stage.getBoundingClientRect();
		const at = {
			clientX: box.left + box.width * 0.6,
			clientY: box.top + box.height * 0.4,
			bubbles: true,
			cancelable: true,
		};
		const frame = () => new Promise<number>((resolve) => requestAnimationFrame(resolve));
		const gaps: number[] = [];
		if (kind === 'pan') stage.dispatchEvent(new MouseEvent('mousedown', { ...at, button: 0, view: window }));
		await frame();
		let last = await frame();
		for (let i = 0; i < 240; i++) {
			const back = i % 120 >= 60;
			if (kind === 'zoom')
				stage.dispatchEvent(new WheelEvent('wheel', { ...at, deltaY: back ? 40 : -40, view: window }));
			else {
				const shift = back ? 120 - (i % 120) : i % 120;
				window.dispatchEvent(new MouseEvent('mousemove', { ...at, clientY: at.clientY + shift * 4, view: window }));
			}
			const now = await frame();
			gaps.push(now - last);
			last = now;
		}
		if (kind === 'pan') window.dispatchEvent(new MouseEvent('mouseup', { ...at, view: window }));
		await frame();
		return gaps;
	}, gesture);
}

/** Streams a growing search to the page. @returns milliseconds between frames, and the delay until a node was drawn */
async function grow(page: Page): Promise<{ gaps: number[]; behind: number }> {
	const total = growth.before + growth.rate * growth.seconds;
	const events = mctsEvents({ nodes: total, seed: 7, open: true });
	const first = events.findIndex((event) => event.t === 'node' && event.id === growth.before);
	const lines = (from: number, to: number): string => treeEventLines(events.slice(from, to));
	// Ten batches per second, the same rate as for a followed log.
	const batches: { from: number; text: string }[] = [];
	const count = growth.seconds * 10;
	for (let i = 0; i < count; i++) {
		const from = first + Math.floor(((events.length - first) * i) / count);
		const to = first + Math.floor(((events.length - first) * (i + 1)) / count);
		batches.push({ from, text: lines(from, to) });
	}
	return page.evaluate(
		async ({ begin, batches, total }) => {
			const frame = () => new Promise<number>((resolve) => requestAnimationFrame(resolve));
			const post = (event: unknown) => window.postMessage({ kind: 'event', event }, '*');
			const encode = (text: string) => new TextEncoder().encode(text);
			const source = {
				title: 'growing',
				path: '/growing.jsonl',
				foreign: null,
				trees: ['1'],
				chosen: 0,
				faults: [],
				running: true,
				canGoOn: true,
				episodes: false,
			};
			post({ type: 'open', side: 'main', generation: 1000, source });
			post({ type: 'events', side: 'main', generation: 1000, from: 0, lines: encode(begin), complete: true });
			for (let i = 0; i < 30; i++) await frame();
			const gaps: number[] = [];
			const start = performance.now();
			let last = await frame();
			let sent = 0;
			const shown = () =>
				Number(
					(document.querySelector('.facts')?.textContent ?? '')
						.replace(/\D*nodes.*/, '')
						.replace(/.*·/, '')
						.replace(/\D/g, ''),
				);
			let done = 0;
			while (sent < batches.length || shown() < total) {
				while (sent < batches.length && performance.now() - start >= sent * 100) {
					const batch = batches[sent++] as { from: number; text: string };
					post({
						type: 'events',
						side: 'main',
						generation: 1000,
						from: batch.from,
						lines: encode(batch.text),
						complete: true,
					});
					done = performance.now();
				}
				const now = await frame();
				gaps.push(now - last);
				last = now;
			}
			return { gaps, behind: performance.now() - done };
		},
		{ begin: lines(0, first), batches, total: total - 1 },
	);
}

function percentile(samples: readonly number[], share: number): number {
	const sorted = samples.toSorted((a, b) => a - b);
	return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number;
}

const perSecond = (gaps: readonly number[]): number => (1000 * gaps.length) / gaps.reduce((sum, gap) => sum + gap, 0);

async function withHost<T>(folder: string, work: (url: string) => Promise<T>): Promise<T> {
	const program = fileURLToPath(new URL('treeHost.ts', import.meta.url));
	const host = spawn(process.execPath, [program, folder, String(nodes)], { stdio: ['pipe', 'pipe', 'inherit'] });
	try {
		const [url] = (await once(createInterface(host.stdout), 'line')) as [string];
		return await work(url);
	} finally {
		host.stdin.end();
		await new Promise((resolve) => host.once('exit', resolve));
	}
}

/**
 * Measures how long it takes to build the tree at random positions in a log. Returns the worst and typical times in
 * milliseconds.
 */
function replayTimes(): { worst: number; usual: number } {
	const events = mctsEvents({ nodes: logged / 4 + 1000, open: true }).slice(0, logged);
	const replay = new Replay(events);
	const times: number[] = [];
	for (let i = 0; i < 200; i++) {
		const moment = (i * 7_919_333) % events.length;
		const begin = performance.now();
		replay.treeAt(moment);
		times.push(performance.now() - begin);
	}
	return { worst: Math.max(...times), usual: percentile(times, 0.5) };
}

async function run({ rounds }: BenchOptions): Promise<Measurement[]> {
	if (skip) throw new Error(skip);
	const folder = await mkdtemp(join(tmpdir(), 'rlb-'));
	let browser: Browser | null = null;
	const samples = new Map<string, { readonly unit: string; readonly values: number[] }>();
	const measure = (name: string, unit: string, value: number): void => {
		const known = samples.get(name) ?? { unit, values: [] };
		samples.set(name, known);
		known.values.push(value);
	};
	try {
		browser = await launchChromium();
		for (let i = 0; i < rounds; i++) {
			const { worst, usual } = replayTimes();
			measure(`tree: replay to any of ${logged} events, max`, 'ms', worst);
			measure(`tree: replay to any of ${logged} events, median`, 'ms', usual);
			await withHost(folder, async (url) => {
				const context = await (browser as Browser).newContext({ viewport: { width: 1200, height: 800 } });
				const page = await context.newPage();
				await watch(page);
				const start = performance.timeOrigin + performance.now();
				await page.goto(url);
				await page.waitForFunction(() => (window as unknown as { times: { all?: number } }).times.all !== undefined);
				const times = await page.evaluate(() => (window as unknown as { times: { first: number; all: number } }).times);
				measure('tree: open to first drawing', 'ms', times.first - start);
				measure('tree: open to all nodes', 'ms', times.all - start);
				const { late95, latest, events } = (await (await fetch(`${url}stats`)).json()) as TreeHostStats;
				if (i === 0) console.log(`${nodes} nodes, ${events} events`);
				measure('tree: host event loop delay, p95', 'ms', late95);
				measure('tree: host event loop delay, max', 'ms', latest);
				// Show the entire tree, not only its largest branches.
				await page.getByRole('combobox', { name: 'Expand', exact: true }).click();
				await page.getByRole('option', { name: 'Expand all', exact: true }).click();
				await page.evaluate(
					() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
				);
				for (const gesture of ['zoom', 'pan'] as const) {
					const gaps = await frames(page, gesture);
					measure(`tree: ${gesture} of ${nodes} nodes`, 'frames/s', perSecond(gaps));
					measure(`tree: ${gesture}, frame time, p95`, 'ms', percentile(gaps, 0.95));
				}
				const { gaps, behind } = await grow(page);
				measure(`tree: ${growth.rate} new nodes/s`, 'frames/s', perSecond(gaps));
				measure('tree: new nodes, frame time, p95', 'ms', percentile(gaps, 0.95));
				measure('tree: last node until drawn', 'ms', behind);
				await context.close();
			});
		}
	} finally {
		await browser?.close();
		await rm(folder, { recursive: true, force: true });
	}
	return [...samples].map(([name, { unit, values }]) => ({ name, unit, samples: values }));
}

export const bench: Bench = {
	title: 'a search tree of 50,000 nodes: opening, drawing, zooming and panning; and a growing tree',
	run,
};
