import { completionKey } from '../core/feedback/judgedPairs.ts';
import { messageText } from '../core/trace/messageText.ts';
import type { Feedback, RatedCompletion } from '../protocol/feedback.ts';
import { streamRollouts } from './runReader.ts';

/**
 * Counts the rated completions that are missing from the run's rollouts at the rated steps. Missing completions mean
 * that the feedback belongs to another run or that the run has since been retrained. Steps whose rollouts no longer
 * exist are ignored.
 * @param run folder of one of our own runs
 */
export async function foreignFeedback(run: string, feedback: readonly Feedback[]): Promise<number> {
	const judged = new Map<number, Map<string, RatedCompletion>>();
	for (const one of feedback) {
		for (const rated of one.kind === 'rating' ? [one] : [one.a, one.b]) {
			if (rated.split !== 'train') continue;
			const ofStep = judged.get(rated.step) ?? new Map<string, RatedCompletion>();
			judged.set(rated.step, ofStep.set(completionKey(rated), rated));
		}
	}
	let foreign = 0;
	for (const [step, open] of judged) {
		let there = false;
		for await (const lines of streamRollouts(run, step)) {
			there ||= lines.length > 0;
			for (const { group, index, completion } of lines) {
				const key = completionKey({ split: 'train', step, group, index });
				if (open.get(key)?.completion === messageText(completion)) open.delete(key);
			}
		}
		if (there) foreign += open.size;
	}
	return foreign;
}
