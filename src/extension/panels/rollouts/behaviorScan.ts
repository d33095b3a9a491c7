import type { AbortSignalLike } from '../../../base/async.ts';
import { behaviors } from '../../../core/trace/behaviorNames.ts';
import { type BehaviorMark, findBehaviors } from '../../../core/trace/behaviors.ts';
import { messageText } from '../../../core/trace/messageText.ts';
import { parseTrace } from '../../../core/trace/parseTrace.ts';
import type { Span, TraceTags } from '../../../core/trace/trace.ts';
import { thinkingSpan } from '../../../core/trace/traceCounter.ts';
import { Turns } from '../../../files/turns.ts';
import type { BehaviorRow } from '../../../protocol/explorerMessages.ts';
import type { RolloutSplit, RunContent } from '../../../runs/runContent.ts';
import { noBounds, type ScanBounds, type ScanCount, scanRun } from './runScan.ts';

/** Limits for scans without an index, with enough rollouts per step to estimate fractions to within a few percent. */
const bounds: ScanBounds = { rollouts: 100_000, perStep: 256 };
/** Maximum number of characters searched at the start of each completion, unless the entire run is scanned. */
const longest = 200_000;
/** Number of characters shown around an example. */
const around = 70;
/** Number of characters per part; text is processed in parts to yield to other tasks. */
const part = 8000;
/** Overlap between parts, longer than the longest phrase, so that no phrase is split between parts. */
const margin = 100;

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Yields the marks in each part of the text, without duplicates. */
function* marksByPart(text: string, { start, end }: Span): Generator<BehaviorMark[]> {
	for (let at = start; at < end; ) {
		const to = Math.min(end, at + part);
		// Include the preceding character to check for a word boundary.
		const from = Math.max(start, at - 1);
		const marks: BehaviorMark[] = [];
		for (const mark of findBehaviors(text.slice(from, Math.min(end, to + margin)))) {
			const begin = from + mark.start;
			if (begin >= at && begin < to) marks.push({ ...mark, start: begin, end: from + mark.end });
		}
		yield marks;
		at = Math.max(to, marks.at(-1)?.end ?? 0);
	}
}

/** Counts the occurrences of each behavior and locates the first one. */
async function lookThrough(
	text: string,
	span: Span,
	turns: Turns,
): Promise<{ total: number[]; first: (Span | null)[] }> {
	const total = behaviors.map(() => 0);
	const first: (Span | null)[] = behaviors.map(() => null);
	for (const marks of marksByPart(text, span)) {
		for (const mark of marks) {
			const i = behaviors.indexOf(mark.behavior);
			total[i] = (total[i] as number) + 1;
			first[i] ??= mark;
		}
		if (turns.due) await turns.pass();
	}
	return { total, first };
}

/** Counts reasoning behaviors in the rollouts of each step. @param onRow called after each step */
export async function scanBehaviors(
	content: RunContent,
	split: RolloutSplit,
	tags: TraceTags,
	all: boolean,
	count: ScanCount,
	onRow: (row: BehaviorRow) => void,
	signal: AbortSignalLike,
): Promise<void> {
	const fresh = (step: number): Writable<BehaviorRow> => ({
		step,
		rollouts: 0,
		showing: behaviors.map(() => 0),
		total: behaviors.map(() => 0),
		examples: [],
	});
	let row: Writable<BehaviorRow> | null = null;
	const turns = new Turns(signal);
	await scanRun(
		content,
		split,
		all ? noBounds : bounds,
		null,
		async (step, rollout) => {
			if (rollout === null) {
				if (row !== null && row.rollouts > 0) onRow(row);
				row = null;
				return;
			}
			row ??= fresh(step);
			const now = row;
			now.rollouts++;
			const whole = messageText(rollout.completion);
			const text = all ? whole : whole.slice(0, longest);
			if (text.length < whole.length) count.bounded = true;
			const span = thinkingSpan(parseTrace(text, tags), text.length);
			const { total, first } = await lookThrough(text, span, turns);
			for (const [i, times] of total.entries()) {
				const mark = first[i];
				if (!mark) continue;
				now.showing[i] = (now.showing[i] as number) + 1;
				now.total[i] = (now.total[i] as number) + times;
				if (now.examples.some(({ behavior }) => behavior === i)) continue;
				const { group, index } = rollout;
				now.examples.push({ behavior: i, group, index, ...exampleAt(text, span, mark) });
			}
		},
		count,
		signal,
	);
}

/** Returns the first occurrence of a behavior with its surrounding text. */
export function firstExample(text: string, span: Span, behavior: number) {
	for (const marks of marksByPart(text, { start: span.start, end: Math.min(span.end, span.start + longest) })) {
		const mark = marks.find((one) => one.behavior === behaviors[behavior]);
		if (mark) return exampleAt(text, span, mark);
	}
	return null;
}

function exampleAt(text: string, { start, end }: Span, mark: Span) {
	const from = Math.max(start, mark.start - around);
	const to = Math.min(end, mark.end + around);
	return {
		before: `${from > start ? '…' : ''}${text.slice(from, mark.start)}`,
		match: text.slice(mark.start, mark.end),
		after: `${text.slice(mark.end, to)}${to < end ? '…' : ''}`,
	};
}
