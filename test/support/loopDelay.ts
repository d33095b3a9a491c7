import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** How late an event loop was, in milliseconds. */
export interface LoopDelay {
	readonly p50: number;
	readonly p95: number;
	readonly max: number;
	/** The same of what its thread itself computed between two looks: on a busy machine it also waits for a processor. */
	readonly own: { readonly p95: number; readonly max: number };
	/** Share of the time that it could have run and another process did; null where the system does not tell. */
	readonly waiting: number | null;
	readonly seconds: number;
}

const resolutionMs = 5;
const mostMs = 50;
/** Where other programs take the processors for longer, lateness tells of them. */
const disturbedShare = 0.03;

/**
 * Whether the loop was more than 50 ms late too often. Where other programs take the processors the thread's own work is
 * judged: by that much it would be late at least.
 */
export function isLate({ p95, own, waiting }: LoopDelay): boolean {
	const disturbed = waiting !== null && waiting > disturbedShare;
	return own.p95 >= mostMs || (!disturbed && p95 >= mostMs);
}

/** The processor time of this thread, of the process where Node does not tell it apart; in milliseconds. */
function computedMs(): number {
	const { user, system } = process.threadCpuUsage?.() ?? process.cpuUsage();
	return (user + system) / 1000;
}

/** Measures this process's event loop while something runs; resolves when that has settled. */
export async function loopDelayDuring(work: () => Promise<unknown>): Promise<LoopDelay> {
	const histogram = monitorEventLoopDelay({ resolution: resolutionMs });
	const own: number[] = [];
	let last = computedMs();
	const look = () => {
		const now = computedMs();
		own.push(now - last);
		last = now;
	};
	const start = performance.now();
	const waited = waitedMs();
	const timer = setInterval(look, resolutionMs);
	histogram.enable();
	try {
		await work();
	} finally {
		histogram.disable();
		clearInterval(timer);
	}
	look();
	const ms = performance.now() - start;
	const waitedNow = waitedMs();
	// The histogram records the time between two looks, which lie a resolution apart.
	const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - resolutionMs);
	own.sort((a, b) => a - b);
	return {
		p50: late(histogram.percentile(50)),
		p95: late(histogram.percentile(95)),
		max: late(histogram.max),
		own: { p95: own[Math.floor(0.95 * (own.length - 1))] as number, max: own.at(-1) as number },
		waiting: waited === null || waitedNow === null ? null : (waitedNow - waited) / ms,
		seconds: ms / 1000,
	};
}

/** How long this process's main thread has waited for a processor: the second field of schedstat, in nanoseconds. */
function waitedMs(): number | null {
	try {
		return Number(readFileSync('/proc/self/schedstat', 'latin1').split(' ')[1]) / 1e6;
	} catch {
		return null;
	}
}
