import { type AbortSignalLike, checkAborted } from '../../../base/async.ts';
import { Failure } from '../../../base/failure.ts';
import { Turns } from '../../../files/turns.ts';
import type { RolloutLine } from '../../../protocol/rolloutLine.ts';
import type { RolloutSplit, RunContent } from '../../../runs/runContent.ts';

/** Progress of a scan over the steps of a run. */
export interface ScanCount {
	/** Number of steps read, out of `total`. */
	done: number;
	total: number;
	rollouts: number;
	/** Number of unreadable records and missing steps. */
	skipped: number;
	/** Whether data was skipped to save time. */
	bounded: boolean;
}

export interface ScanBounds {
	/** Maximum number of rollouts, in total and per step. */
	readonly rollouts: number;
	readonly perStep: number;
}

export const noBounds: ScanBounds = { rollouts: Number.POSITIVE_INFINITY, perStep: Number.POSITIVE_INFINITY };

/**
 * Returns a permutation of 0..count-1 in which every prefix is spread evenly over the range: first both ends, then
 * repeatedly the midpoints of the remaining gaps.
 */
export function coarseToFine(count: number): number[] {
	if (count <= 0) return [];
	const order = count === 1 ? [0] : [count - 1, 0];
	let gaps: (readonly [number, number])[] = [[0, count - 1]];
	while (gaps.length > 0) {
		const next: (readonly [number, number])[] = [];
		for (const [low, high] of gaps) {
			if (high - low < 2) continue;
			const middle = (low + high) >>> 1;
			order.push(middle);
			next.push([low, middle], [middle, high]);
		}
		gaps = next;
	}
	return order;
}

/**
 * Scans the rollouts of a run, step by step from coarse to fine, and passes them to `read`, yielding to other tasks in
 * between. Unreadable steps are counted and skipped. Fails with `cancelled` when the signal is aborted.
 * @param first step to read first
 * @param read called with each rollout, and with null at the end of each step
 */
export async function scanRun(
	content: RunContent,
	split: RolloutSplit,
	bounds: ScanBounds,
	first: number | null,
	read: (step: number, rollout: RolloutLine | null) => Promise<void> | void,
	count: ScanCount,
	signal: AbortSignalLike,
): Promise<void> {
	const steps = await content.steps(split);
	count.total = steps.length;
	const order = coarseToFine(steps.length).map((at) => steps[at] as number);
	if (first !== null && steps.includes(first)) order.unshift(...order.splice(order.indexOf(first), 1));
	for (const step of order) {
		checkAborted(signal);
		if (count.rollouts >= bounds.rollouts) {
			count.bounded = true;
			return;
		}
		await scanStep(content, split, step, bounds, read, count, signal);
		count.done++;
		await new Promise((resolve) => setImmediate(resolve));
	}
}

async function scanStep(
	content: RunContent,
	split: RolloutSplit,
	step: number,
	{ perStep }: ScanBounds,
	read: (step: number, rollout: RolloutLine | null) => Promise<void> | void,
	count: ScanCount,
	signal: AbortSignalLike,
): Promise<void> {
	let taken = 0;
	const turns = new Turns(signal);
	try {
		const opened = await content.open(step, split);
		try {
			for await (const { rollout, fault } of opened.rollouts(signal)) {
				if (fault !== null) count.skipped += fault.records;
				if (rollout === null) continue;
				if (taken >= perStep) {
					count.bounded = true;
					break;
				}
				taken++;
				count.rollouts++;
				await read(step, rollout);
				if (turns.due) await turns.pass();
			}
		} finally {
			await opened.close();
		}
	} catch (error) {
		const failure = Failure.from(error);
		if (failure.reason === 'cancelled') throw failure;
		count.skipped++;
	}
	await read(step, null);
}
