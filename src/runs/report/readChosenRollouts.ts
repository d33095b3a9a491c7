import { checkAborted } from '../../base/async.ts';
import type { ReportedRollout } from '../../core/report/reportedRun.ts';
import { messageText } from '../../core/trace/messageText.ts';
import { parseTrace } from '../../core/trace/parseTrace.ts';
import { r1Tags, type TraceTags } from '../../core/trace/trace.ts';
import type { RolloutLine } from '../../protocol/rolloutLine.ts';
import type { RolloutPlace } from '../runContent.ts';
import type { ReadContext } from './readContext.ts';

/** Number of final steps to select rollouts from, and maximum number of rollouts and rewards to read. */
const limits = { steps: 3, rollouts: 20_000, rewards: 20 } as const;

interface Found {
	readonly step: number;
	readonly place: RolloutPlace;
	readonly reward: number;
}

/**
 * Selects the best, the median and the worst rollout by reward from the last steps; ties go to the first one. The text
 * of the other rollouts is not kept.
 */
export async function readChosenRollouts({ content, tags, signal }: ReadContext): Promise<ReportedRollout[]> {
	const found: Found[] = [];
	for (const step of (await content.steps()).slice(-limits.steps).reverse()) {
		const opened = await content.open(step);
		try {
			for await (const { rollout, place } of opened.rollouts(signal)) {
				if (rollout === null || rollout.reward === null || found.length >= limits.rollouts) continue;
				found.push({ step, place, reward: rollout.reward });
			}
		} finally {
			await opened.close();
		}
	}
	// Stable sort: for equal rewards, the first rollout of the newest step comes first.
	const sorted = [...found].sort((a, b) => b.reward - a.reward);
	const [best, median, worst] = [sorted[0], sorted[sorted.length >> 1], sorted.findLast(() => true)];
	const chosen: { readonly title: string; readonly found: Found }[] = [];
	for (const [title, one] of [
		['Best', best],
		['Median', median],
		['Worst', worst],
	] as const) {
		if (one !== undefined && !chosen.some((other) => other.found === one)) chosen.push({ title, found: one });
	}
	const rollouts: ReportedRollout[] = [];
	for (const { title, found: one } of chosen) {
		checkAborted(signal);
		const opened = await content.open(one.step);
		try {
			const made = reported(title, await opened.rollout(one.place), tags ?? r1Tags);
			rollouts.push(content.hasSteps ? made : { ...made, step: null });
		} finally {
			await opened.close();
		}
	}
	return rollouts;
}

function reported(title: string, rollout: RolloutLine, tags: TraceTags): ReportedRollout {
	const { step, prompt, answer, reward, rewards, truncated } = rollout;
	const completion = messageText(rollout.completion);
	const trace = parseTrace(completion, tags);
	const hasTags = trace.tags.length > 0;
	return {
		...{ title, step, completion, reward, truncated },
		prompt: messageText(prompt),
		think: hasTags ? trace.think : null,
		answer: hasTags ? trace.answer : null,
		gold: goldOf(answer),
		rewards: Object.entries(rewards).slice(0, limits.rewards),
	};
}

function goldOf(answer: unknown): string | null {
	if (answer === undefined || answer === null) return null;
	return typeof answer === 'string' ? answer : (JSON.stringify(answer) ?? null);
}
