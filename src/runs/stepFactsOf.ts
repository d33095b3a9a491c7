import { setImmediate } from 'node:timers/promises';
import { type AbortSignalLike, checkAborted } from '../base/async.ts';
import { FactsOfRollouts } from '../core/diagnosis/factsOfRollouts.ts';
import type { StepFacts } from '../core/diagnosis/stepFacts.ts';
import type { TraceTags } from '../core/trace/trace.ts';
import type { RunContent, StepRollouts } from './runContent.ts';

/** Maximum number of rollouts to read per step, and how long to work before yielding. */
const maxRollouts = 2048;
const turnMillis = 4;

/** Reads a step's rollouts, reduced to what the rules need; null if none can be read. */
export async function stepFactsOf(
	content: RunContent,
	step: number,
	tags: TraceTags | null,
	signal?: AbortSignalLike,
): Promise<StepFacts | null> {
	return await withStep(content, step, (opened) => factsOf(opened, step, tags, signal));
}

/** Keeps a step's rollouts open while `work` uses them; null if they cannot be opened. */
export async function withStep<T>(
	content: RunContent,
	step: number,
	work: (opened: StepRollouts) => Promise<T>,
): Promise<T | null> {
	const opened = await content.open(step).catch(() => null);
	if (opened === null) return null;
	try {
		return await work(opened);
	} finally {
		await opened.close();
	}
}

/** Same as `stepFactsOf`, for a step that is already open. */
export async function factsOf(
	opened: StepRollouts,
	step: number,
	tags: TraceTags | null,
	signal?: AbortSignalLike,
): Promise<StepFacts | null> {
	const facts = new FactsOfRollouts(tags);
	let rollouts = 0;
	let turn = performance.now();
	for await (const { rollout } of opened.rollouts(signal)) {
		if (rollout === null) continue;
		facts.add(rollout);
		if (++rollouts >= maxRollouts) break;
		if (performance.now() - turn < turnMillis) continue;
		await setImmediate();
		checkAborted(signal);
		turn = performance.now();
	}
	return rollouts === 0 ? null : facts.of(step);
}

/** Selects the steps of a long run to read rollouts from: evenly spaced, plus everything at the end. */
export function sampledSteps(steps: readonly number[], limit: number): number[] {
	if (steps.length <= limit) return [...steps];
	const end = Math.floor(limit / 4);
	const spread = limit - end;
	const before = steps.slice(0, steps.length - end);
	const picked = Array.from({ length: spread }, (_, i) => before[Math.floor((i * before.length) / spread)] as number);
	return [...new Set([...picked, ...steps.slice(steps.length - end)])];
}
