import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { launchChromium, skip } from '../support/chromium.ts';
import { longSample } from '../support/longSample.ts';
import { zipFile } from '../support/zipFile.ts';
import { writeChatLog } from './chatLog.ts';
import { type Bench, type BenchOptions, type Measurement, NotHere } from './measurement.ts';

/** Records when the page shows the first messages, and when all have been checked. */
async function watch(page: Page): Promise<void> {
	await page.addInitScript(() => {
		const times: { first?: number; checked?: number } = {};
		Object.assign(window, { times });
		const look = (): void => {
			const now = performance.timeOrigin + performance.now();
			if (document.querySelector('.message .summary') !== null) times.first ??= now;
			const facts = document.querySelector('.facts')?.textContent ?? '';
			if (/ calls? /.test(facts)) times.checked ??= now;
			else requestAnimationFrame(look);
		};
		requestAnimationFrame(look);
	});
}

/**
 * Scrolls with one step per frame, like a scroll wheel, and then drags the bar through the whole list. Returns the
 * milliseconds between frames, and for how many frames the page showed messages that had not been loaded.
 */
function scroll(page: Page, how: 'wheel' | 'bar'): Promise<{ gaps: number[]; blank: number }> {
	return page.evaluate(async (kind) => {
		const list = document.querySelector<HTMLElement>('.timeline') as HTMLElement;
		const frame = () => new Promise<number>((resolve) => requestAnimationFrame(resolve));
		const gaps: number[] = [];
		let blank = 0;
		list.scrollTop = 0;
		await frame();
		let last = await frame();
		for (let i = 0; i < 240; i++) {
			if (kind === 'wheel') list.scrollTop += 120;
			else list.scrollTop = ((i + 1) / 240) * (list.scrollHeight - list.clientHeight);
			const now = await frame();
			gaps.push(now - last);
			last = now;
			if (document.querySelector('.message.pending') !== null) blank++;
		}
		return { gaps, blank };
	}, how);
}

/** Jumps to the last message by keyboard. Returns the milliseconds until it is shown. */
async function toEnd(page: Page, last: number): Promise<number> {
	await page.locator('.message-head').first().focus();
	const started = performance.now();
	await page.keyboard.press('End');
	await page.waitForSelector(`[data-message="${last}"] .summary`);
	return performance.now() - started;
}

/** Returns a clock of the CPU seconds used by the page's main thread, which depend less on machine load. */
async function threadClock(page: Page): Promise<() => Promise<number>> {
	const session = await page.context().newCDPSession(page);
	await session.send('Performance.enable', { timeDomain: 'threadTicks' });
	return async () => {
		const { metrics } = await session.send('Performance.getMetrics');
		return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN;
	};
}

function percentile(samples: readonly number[], share: number): number {
	const sorted = samples.toSorted((a, b) => a - b);
	return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number;
}

async function withHost<T>(file: string, work: (url: string) => Promise<T>): Promise<T> {
	const program = fileURLToPath(new URL('transcriptHost.ts', import.meta.url));
	const host = spawn(process.execPath, [program, file], { stdio: ['pipe', 'pipe', 'inherit'] });
	try {
		const [url] = (await once(createInterface(host.stdout), 'line')) as [string];
		return await work(url);
	} finally {
		host.stdin.end();
		if (host.exitCode === null) await once(host, 'exit');
	}
}

/** Maximum time until all messages have been checked, in milliseconds. */
const checkMs = 240_000;

type Measure = (name: string, unit: string, value: number) => void;

/** Opens a file in the page, scrolls through it, and jumps to its end. */
async function measurePage(browser: Browser, file: string, messages: number, measure: Measure): Promise<void> {
	await withHost(file, async (url) => {
		const context = await browser.newContext({ viewport: { width: 1200, height: 800 } });
		const page = await context.newPage();
		await watch(page);
		const start = performance.timeOrigin + performance.now();
		await page.goto(url);
		const checked = () => (window as unknown as { times: { checked?: number } }).times.checked;
		await page.waitForFunction(checked, undefined, { timeout: checkMs });
		const times = await page.evaluate(() => (window as unknown as { times: { first: number; checked: number } }).times);
		measure('open to first messages', 'ms', times.first - start);
		measure('open to findings for all messages', 'ms', times.checked - start);
		const clock = await threadClock(page);
		for (const how of ['wheel', 'bar'] as const) {
			const before = await clock();
			const { gaps, blank } = await scroll(page, how);
			const busy = (await clock()) - before;
			measure(`scrolling with the ${how}, CPU time per frame`, 'ms', (1000 * busy) / gaps.length);
			const total = gaps.reduce((sum, gap) => sum + gap, 0);
			measure(`scrolling with the ${how}`, 'frames/s', (1000 * gaps.length) / total);
			measure(`scrolling with the ${how}, frame time, p95`, 'ms', percentile(gaps, 0.95));
			measure(`scrolling with the ${how}, frames with messages still loading`, '%', (100 * blank) / gaps.length);
		}
		measure('to the last message', 'ms', await toEnd(page, messages - 1));
		await context.close();
	});
}

async function run({ rounds, tiny }: BenchOptions): Promise<Measurement[]> {
	if (skip) throw new NotHere(skip);
	const messages = tiny ? 6000 : 300_000;
	const folder = await mkdtemp(join(tmpdir(), 'rlb-'));
	const chat = join(folder, 'chat.jsonl');
	await writeChatLog(chat, messages);
	const sample = longSample('long', messages);
	const archive = join(folder, 'sample.eval');
	await writeFile(archive, zipFile([{ name: 'samples/long_epoch_1.json', text: sample, method: 93 }]));
	const megabytes = [(await stat(chat)).size, sample.length].map((bytes) => (bytes / 1e6).toFixed(1));
	console.log(`${messages} messages: ${megabytes[0]} MB in lines, ${megabytes[1]} MB as an Inspect sample`);
	const samples = new Map<string, { readonly unit: string; readonly values: number[] }>();
	const measure: Measure = (name, unit, value) => {
		const known = samples.get(name) ?? { unit, values: [] };
		samples.set(name, known);
		known.values.push(value);
	};
	let browser: Browser | null = null;
	try {
		browser = await launchChromium();
		for (let i = 0; i < rounds; i++) {
			await measurePage(browser, chat, messages, (name, unit, value) => measure(`transcript: ${name}`, unit, value));
			await measurePage(browser, archive, messages, (name, unit, value) =>
				measure(`transcript of an Inspect sample: ${name}`, unit, value),
			);
		}
	} finally {
		await browser?.close();
		await rm(folder, { recursive: true, force: true });
	}
	return [...samples].map(([name, { unit, values }]) => ({ name, unit, samples: values }));
}

export const bench: Bench = {
	title: 'a chat log and an Inspect sample with 300,000 messages: opening, scrolling and jumping',
	run,
};
