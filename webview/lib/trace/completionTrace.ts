import type { Behavior } from '../../../src/core/trace/behaviorNames.ts';
import { findBehaviors } from '../../../src/core/trace/behaviors.ts';
import { parseTrace } from '../../../src/core/trace/parseTrace.ts';
import type { Span, Trace, TraceSection, TraceTags } from '../../../src/core/trace/trace.ts';
import type { Mark } from './marks.ts';
import { type TextBlock, textBlocks } from './textBlocks.ts';

export type RegionKind = TraceSection | 'outside' | 'plain';

/** Section of a completion: thinking, answer, text outside both, or the whole text. */
export interface Region extends Span {
	readonly kind: RegionKind;
}

export interface RegionBlock extends TextBlock {
	readonly region: Region;
	/** Whether this is the first block in its region, which displays the region's name. */
	readonly first: boolean;
}

/** Completion parsed for display. Offsets are UTF-16 code units. */
export interface CompletionTrace {
	readonly text: string;
	readonly trace: Trace;
	readonly regions: readonly Region[];
	readonly blocks: readonly RegionBlock[];
	/** Tags, format errors and reasoning behaviors, sorted by start. */
	readonly marks: readonly Mark[];
	/** Number of occurrences of each behavior in the thinking section. */
	readonly behaviors: ReadonlyMap<Behavior, number>;
}

/**
 * Returns the think and answer sections with their tags, in text order, and the text between them unless it is blank.
 */
function findRegions(text: string, trace: Trace, tags: TraceTags): Region[] {
	if (!tags.think && !tags.answer) return text === '' ? [] : [{ kind: 'plain', start: 0, end: text.length }];
	const withTags = (span: Span, section: TraceSection): Region => {
		const open = trace.tags.find((tag) => tag.section === section && tag.kind === 'open' && tag.end === span.start);
		const close = trace.tags.find((tag) => tag.section === section && tag.kind === 'close' && tag.start === span.end);
		return { kind: section, start: open?.start ?? span.start, end: close?.end ?? span.end };
	};
	const sections: Region[] = [];
	if (trace.thinkSpan) sections.push(withTags(trace.thinkSpan, 'think'));
	if (trace.answerSpan) sections.push(withTags(trace.answerSpan, 'answer'));
	sections.sort((a, b) => a.start - b.start);
	const regions: Region[] = [];
	let at = 0;
	const outside = (end: number) => {
		if (end > at && /\S/.test(text.slice(at, end))) regions.push({ kind: 'outside', start: at, end });
	};
	for (const section of sections) {
		if (section.start < at || section.end <= section.start) continue;
		outside(section.start);
		regions.push(section);
		at = section.end;
	}
	outside(text.length);
	return regions;
}

/** Matches tokenizers' end-of-turn tokens. */
const turnEnd = /(?:<\|(?:im_end|eot_id|eom_id|end|endoftext|end_of_text|return)\|>|<(?:\/s|eos|end_of_turn)>|\s)+$/u;

/**
 * Tags, and whether completions were recorded with special tokens, in which case the end-of-turn token is not part of
 * the text.
 */
export interface CompletionTags extends TraceTags {
	readonly special?: boolean;
}

/** Returns the offset at which the text ends and special tokens begin. */
function spokenEnd(text: string, { special }: CompletionTags): number {
	const ending = special ? turnEnd.exec(text.slice(-200))?.[0] : undefined;
	return ending?.includes('<') ? text.length - ending.length : text.length;
}

export function traceCompletion(text: string, tags: CompletionTags): CompletionTrace {
	const end = spokenEnd(text, tags);
	const spoken = text.slice(0, end);
	const trace = parseTrace(spoken, tags);
	const regions = findRegions(spoken, trace, tags);
	const marks: Mark[] = [];
	if (end < text.length) {
		const last = regions.pop() ?? { kind: 'plain', start: end, end };
		regions.push({ ...last, end: text.length });
		marks.push({ start: end, end: text.length, kind: 'tag', title: 'End of turn' });
	}
	for (const { start, end } of trace.tags) marks.push({ start, end, kind: 'tag' });
	for (const { start, end, message, reason } of trace.faults) {
		// Text outside the sections is shown as a named region instead.
		if (end > start && reason !== 'outside') marks.push({ start, end, kind: 'fault', title: message });
	}
	const behaviors = new Map<Behavior, number>();
	for (const { start, end, behavior, title } of findBehaviors(text, trace)) {
		marks.push({ start, end, kind: `behavior-${behavior}`, title });
		behaviors.set(behavior, (behaviors.get(behavior) ?? 0) + 1);
	}
	marks.sort((a, b) => a.start - b.start || b.end - a.end);
	const blocks = regions.flatMap((region) =>
		textBlocks(text, region.start, region.end).map((block, i) => ({ ...block, region, first: i === 0 })),
	);
	return { text, trace, regions, blocks, marks, behaviors };
}

/** Returns the format errors as short sentences without duplicates, combining missing tags in one sentence. */
export function faultMessages(trace: Trace): string[] {
	const missing = trace.faults.filter(({ reason }) => reason === 'missing');
	const others = trace.faults.filter(({ reason }) => reason !== 'missing').map(({ message }) => message);
	const title =
		missing.length < 2
			? missing.map(({ message }) => message)
			: [`Missing: ${missing.map(({ message }) => message.replace(/ is missing\.$/, '')).join(', ')}.`];
	return [...new Set([...title, ...others])];
}

/** Tags for prompts, which are displayed without sections. */
export const noTags: TraceTags = { think: null, answer: null };
