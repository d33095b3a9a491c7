import { setImmediate } from 'node:timers/promises';
import { type AbortSignalLike, checkAborted } from '../base/async.ts';
import { FactsOfRollouts } from '../core/diagnosis/factsOfRollouts.ts';
import type { StepFacts } from '../core/diagnosis/stepFacts.ts';
import type { TraceTags } from '../core/trace/trace.ts';
import type { RunContent } from './runContent.ts';

/** Rollouts of one step that are inspected, and the time that may go by before other work gets its turn. */
const maxRollouts = 2048;
const turnMillis = 4;

/** The rollouts of a step, reduced to what rules need; null: there are none that can be read. */
export async function stepFactsOf(
	content: RunContent,
	step: number,
	tags: TraceTags | null,
	signal?: AbortSignalLike,
): Promise<StepFacts | null> {
	const facts = new FactsOfRollouts(tags);
	let rollouts = 0;
	let turn = performance.now();
	const opened = await content.open(step).catch(() => null);
	if (opened === null) return null;
	try {
		for await (const { rollout } of opened.rollouts(signal)) {
			if (rollout === null) continue;
			facts.add(rollout);
			if (++rollouts >= maxRollouts) break;
			if (performance.now() - turn < turnMillis) continue;
			await setImmediate();
			checkAborted(signal);
			turn = performance.now();
		}
	} finally {
		await opened.close();
	}
	return rollouts === 0 ? null : facts.of(step);
}

/** Steps whose rollouts are inspected in a long run: spread evenly, and all of its end. */
export function sampledSteps(steps: readonly number[], most: number): number[] {
	if (steps.length <= most) return [...steps];
	const end = Math.floor(most / 4);
	const spread = most - end;
	const before = steps.slice(0, steps.length - end);
	const picked = Array.from({ length: spread }, (_, i) => before[Math.floor((i * before.length) / spread)] as number);
	return [...new Set([...picked, ...steps.slice(steps.length - end)])];
}
