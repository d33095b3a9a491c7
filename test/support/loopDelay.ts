import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Event loop delay in milliseconds. */
export interface LoopDelay {
	readonly p50: number;
	readonly p95: number;
	readonly max: number;
	/**
	 * CPU time used by the loop's own thread between two samples. On a busy machine, the delay also includes waiting for
	 * a CPU.
	 */
	readonly own: { readonly p95: number; readonly max: number };
	/** Fraction of the time that the thread waited for a CPU, or null if the system does not report it. */
	readonly waiting: number | null;
	readonly seconds: number;
}

const resolutionMs = 5;
const maxMs = 50;
/** Fraction of waiting time above which the delay reflects other programs. */
const disturbedShare = 0.03;

/**
 * Returns whether the loop was delayed by more than 50 ms too often. If other programs occupy the CPUs, uses the
 * thread's own CPU time instead, which is a lower bound for the delay.
 */
export function isLate({ p95, own, waiting }: LoopDelay): boolean {
	const disturbed = waiting !== null && waiting > disturbedShare;
	return own.p95 >= maxMs || (!disturbed && p95 >= maxMs);
}

/** Returns this thread's CPU time in milliseconds, or the process's if Node does not report it per thread. */
function computedMs(): number {
	const { user, system } = process.threadCpuUsage?.() ?? process.cpuUsage();
	return (user + system) / 1000;
}

/** Measures this process's event loop delay while `work` runs. Resolves once it has settled. */
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
	// The histogram records the time between two samples, which are one resolution apart.
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

/** Returns the nanoseconds this process's main thread has waited for a CPU: the second field of schedstat. */
function waitedMs(): number | null {
	try {
		return Number(readFileSync('/proc/self/schedstat', 'latin1').split(' ')[1]) / 1e6;
	} catch {
		return null;
	}
}
