import { type AbortSignalLike, checkAborted } from '../../../base/async.ts';
import { Failure } from '../../../base/failure.ts';
import { Turns } from '../../../files/turns.ts';
import type { RolloutLine } from '../../../protocol/rolloutLine.ts';
import type { RolloutSplit, RunContent } from '../../../runs/runContent.ts';

/** How far a way through the steps of a run is. */
export interface ScanCount {
	/** Steps read, and steps there are. */
	done: number;
	total: number;
	rollouts: number;
	/** Records that could not be read, and steps that are gone. */
	skipped: number;
	/** Something was left out to end in time. */
	bounded: boolean;
}

export interface ScanBounds {
	/** Rollouts that are read in all, and of one step. */
	readonly rollouts: number;
	readonly perStep: number;
}

export const noBounds: ScanBounds = { rollouts: Number.POSITIVE_INFINITY, perStep: Number.POSITIVE_INFINITY };

/**
 * An order of `count` places in which whatever was gone through so far is spread over all of them: the ends, then always
 * the middles between what is known. A permutation of 0..count-1.
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
 * Goes through the rollouts of a run's steps, coarse to fine, and hands each step's to `read`; other work gets its turn in
 * between. A step that cannot be opened is counted and left out. Ends with `cancelled` when the signal says so.
 * @param first step that is read before all others
 * @param read takes one rollout; called with null when the step is read
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
