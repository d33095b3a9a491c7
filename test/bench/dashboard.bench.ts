import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { launchChromium, skip } from '../support/chromium.ts';
import type { HostStats } from './dashboardHost.ts';
import { writeLongRun } from './longRun.ts';
import type { Bench, BenchOptions, Measurement } from './measurement.ts';

const steps = 100_000;
const metrics = 60;

interface Opened {
	/**
	 * Milliseconds from the request to show the run until the first curve covers its whole range and until all rows are
	 * loaded.
	 */
	readonly painted: number;
	readonly complete: number;
}

/** Opens the page and records when it draws. */
async function open(page: Page, url: string): Promise<Opened> {
	await page.addInitScript((lastStep) => {
		const times: { painted?: number; complete?: number } = {};
		Object.assign(window, { times });
		const chart = () => document.querySelector<HTMLElement>('[data-chart="reward"] .plot');
		/** Chart image before the app received the last step, or undefined until it has received it. */
		let before: string | null | undefined;
		window.addEventListener('message', ({ data }) => {
			if (before === undefined && data?.event?.chunk?.step.at(-1) === lastStep) {
				before = chart()?.querySelector('canvas')?.toDataURL() ?? null;
			}
		});
		/** Returns whether the first and last tenths of the chart both contain colored pixels, which means a curve. */
		const isPainted = (canvas: HTMLCanvasElement, plot: HTMLElement): boolean => {
			const context = canvas.getContext('2d', { willReadFrequently: true });
			const over = plot.querySelector<HTMLElement>('.u-over');
			if (!context || !over || over.clientWidth === 0) return false;
			const scale = canvas.width / canvas.clientWidth;
			const inked = (from: number): boolean => {
				const left = (over.offsetLeft + over.clientWidth * from) * scale;
				const { data } = context.getImageData(left, 0, (over.clientWidth * scale) / 10, canvas.height);
				for (let i = 0; i < data.length; i += 4) {
					const [r, g, b, a] = [data[i] ?? 0, data[i + 1] ?? 0, data[i + 2] ?? 0, data[i + 3] ?? 0];
					if (a > 100 && Math.max(r, g, b) - Math.min(r, g, b) > 60) return true;
				}
				return false;
			};
			return inked(0) && inked(0.9);
		};
		const look = (): void => {
			const plot = chart();
			const canvas = plot?.querySelector('canvas');
			if (plot && canvas && times.painted === undefined && before !== undefined) {
				if (canvas.toDataURL() !== before && isPainted(canvas, plot)) {
					times.painted = performance.timeOrigin + performance.now();
				}
			}
			if (document.querySelector('.groups')?.getAttribute('aria-busy') === 'false') {
				times.complete ??= performance.timeOrigin + performance.now();
			}
			if (times.painted === undefined || times.complete === undefined) setTimeout(look, 10);
		};
		setTimeout(look, 10);
	}, steps);
	const start = performance.timeOrigin + performance.now();
	await page.goto(url);
	await page.waitForFunction(
		() => (window as unknown as { times: { complete?: number } }).times.complete !== undefined,
	);
	const times = await page.evaluate(
		() => (window as unknown as { times: { painted: number; complete: number } }).times,
	);
	return { painted: times.painted - start, complete: times.complete - start };
}

/** Sends one wheel event per frame, like a user zooming or panning. @returns milliseconds between frames */
function frames(page: Page, gesture: 'zoom' | 'pan'): Promise<number[]> {
	return page.evaluate(async (kind) => {
		const over = document.querySelector<HTMLElement>('[data-chart="reward"] .u-over') as HTMLElement;
		const box = over.getBoundingClientRect();
		const wheel = (options: WheelEventInit): void => {
			over.dispatchEvent(
				new WheelEvent('wheel', {
					...options,
					bubbles: true,
					cancelable: true,
					clientX: box.left + box.width * 0.6,
					clientY: box.top + box.height / 2,
				}),
			);
		};
		const frame = () => new Promise<number>((resolve) => requestAnimationFrame(resolve));
		const gaps: number[] = [];
		if (kind === 'pan') {
			// Zoom in to a third of the run.
			for (let i = 0; i < 12; i++) wheel({ ctrlKey: true, deltaY: -40 });
		}
		await frame();
		let last = await frame();
		for (let i = 0; i < 240; i++) {
			const back = i % 120 >= 60;
			if (kind === 'zoom') wheel({ ctrlKey: true, deltaY: back ? 40 : -40 });
			else wheel({ deltaX: back ? -12 : 12 });
			const now = await frame();
			gaps.push(now - last);
			last = now;
		}
		over.dispatchEvent(new MouseEvent('dblclick', { bubbles: true }));
		await frame();
		return gaps;
	}, gesture);
}

function percentile(samples: readonly number[], share: number): number {
	const sorted = samples.toSorted((a, b) => a - b);
	return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number;
}

async function withHost<T>(run: string, work: (url: string) => Promise<T>): Promise<T> {
	const program = fileURLToPath(new URL('dashboardHost.ts', import.meta.url));
	const host = spawn(process.execPath, [program, run], { stdio: ['pipe', 'pipe', 'inherit'] });
	try {
		const [url] = (await once(createInterface(host.stdout), 'line')) as [string];
		return await work(url);
	} finally {
		host.stdin.end();
		await new Promise((resolve) => host.once('exit', resolve));
	}
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
		const bytes = await writeLongRun(folder, { steps, metrics });
		console.log(`${steps} steps x ${metrics} metrics, ${(bytes / 1e6).toFixed(0)} MB`);
		browser = await launchChromium();
		for (let i = 0; i < rounds; i++) {
			await withHost(folder, async (url) => {
				const context = await (browser as Browser).newContext({ viewport: { width: 1200, height: 800 } });
				const page = await context.newPage();
				const { painted, complete } = await open(page, url);
				measure('dashboard: open to first paint of the whole range', 'ms', painted);
				measure('dashboard: open to all rows', 'ms', complete);
				const { max, before, late95, latest } = (await (await fetch(`${url}stats`)).json()) as HostStats;
				measure('dashboard: peak host memory', 'MB', max);
				measure('dashboard: host memory before opening', 'MB', before);
				measure('dashboard: host event loop delay, p95', 'ms', late95);
				measure('dashboard: host event loop delay, max', 'ms', latest);
				for (const gesture of ['zoom', 'pan'] as const) {
					const gaps = await frames(page, gesture);
					measure(`dashboard: ${gesture}`, 'frames/s', (1000 * gaps.length) / gaps.reduce((sum, gap) => sum + gap, 0));
					measure(`dashboard: ${gesture}, frame time, p95`, 'ms', percentile(gaps, 0.95));
				}
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
	title: 'a run of 100,000 steps and 60 metrics: opening, drawing, zooming and panning',
	run,
};
