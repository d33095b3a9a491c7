import { type AbortSignalLike, checkAborted } from '../../base/async.ts';
import { behaviours, countBehaviours, findBehaviours } from '../../core/trace/behaviours.ts';
import { messageText } from '../../core/trace/messageText.ts';
import { parseTrace } from '../../core/trace/parseTrace.ts';
import type { Span, TraceTags } from '../../core/trace/trace.ts';
import { thinkingSpan } from '../../core/trace/traceCounter.ts';
import type { BehaviourRow } from '../../protocol/microscopeMessages.ts';
import type { RolloutSplit, RunContent } from '../../runs/runContent.ts';
import { noBounds, type ScanBounds, type ScanCount, scanRun } from './runScan.ts';

/** Without an index: of each step as many as tell its shares to a few per cent. */
const bounds: ScanBounds = { rollouts: 100_000, perStep: 256 };
/** Characters around an example. */
const around = 70;
/** Longer stretches of text are gone through in parts, so that other work gets its turn. */
const part = 100_000;

type Writable<T> = { -readonly [K in keyof T]: T[K] };

function countIn(text: string): number[] {
	const counts = countBehaviours(findBehaviours(text));
	return behaviours.map((behaviour) => counts[behaviour]);
}

/** Counts in parts that end at a line, where no phrase is torn. */
async function countLong(text: string, { start, end }: Span, signal: AbortSignalLike): Promise<number[]> {
	if (end - start <= part) return countIn(text.slice(start, end));
	const total = new Array<number>(behaviours.length).fill(0);
	for (let at = start; at < end; ) {
		let to = Math.min(end, at + part);
		if (to < end) {
			const feed = text.lastIndexOf('\n', to);
			to = feed > at + part / 2 ? feed : to;
		}
		for (const [i, count] of countIn(text.slice(at, to)).entries()) total[i] = (total[i] as number) + count;
		at = to;
		await new Promise((resolve) => setImmediate(resolve));
		checkAborted(signal);
	}
	return total;
}

/** How the rollouts of each step reason. @param onRow a step was read */
export async function scanBehaviours(
	content: RunContent,
	split: RolloutSplit,
	tags: TraceTags,
	all: boolean,
	count: ScanCount,
	onRow: (row: BehaviourRow) => void,
	signal: AbortSignalLike,
): Promise<void> {
	const fresh = (step: number): Writable<BehaviourRow> => ({
		step,
		rollouts: 0,
		showing: behaviours.map(() => 0),
		total: behaviours.map(() => 0),
		examples: [],
	});
	let row: Writable<BehaviourRow> | null = null;
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
			const text = messageText(rollout.completion);
			const trace = parseTrace(text, tags);
			const span = thinkingSpan(trace, text.length);
			const counts = await countLong(text, span, signal);
			for (const [i, times] of counts.entries()) {
				if (times === 0) continue;
				now.showing[i] = (now.showing[i] as number) + 1;
				now.total[i] = (now.total[i] as number) + times;
				if (now.examples.some(({ behaviour }) => behaviour === i)) continue;
				const found = firstExample(text, span, i);
				if (found) now.examples.push({ behaviour: i, group: rollout.group, index: rollout.index, ...found });
			}
		},
		count,
		signal,
	);
}

/** The first place of a behaviour, with what stands around it. */
export function firstExample(text: string, { start, end }: Span, behaviour: number) {
	const looked = text.slice(start, Math.min(end, start + part));
	const mark = findBehaviours(looked).find((one) => one.behaviour === behaviours[behaviour]);
	if (!mark) return null;
	const from = Math.max(0, mark.start - around);
	const to = Math.min(looked.length, mark.end + around);
	return {
		before: `${from > 0 ? '…' : ''}${looked.slice(from, mark.start)}`,
		match: looked.slice(mark.start, mark.end),
		after: `${looked.slice(mark.end, to)}${to < looked.length ? '…' : ''}`,
	};
}
