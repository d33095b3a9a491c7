import type { Template } from '../text/template.ts';

export type TraceSection = 'think' | 'answer';
export type TraceTags = Pick<Template, TraceSection>;

/** Tags in the `r1` template, used unless a recipe or policy specifies others. */
export const r1Tags = {
	think: ['<think>', '</think>'],
	answer: ['<answer>', '</answer>'],
} as const satisfies TraceTags;

/** Range of UTF-16 code units in the completion; `end` is exclusive. */
export interface Span {
	readonly start: number;
	readonly end: number;
}

export interface TagMark extends Span {
	readonly section: TraceSection;
	readonly kind: 'open' | 'close';
}

/**
 * - `missing`: the tag does not occur; `repeated`: it occurs again; `unclosed`: opened, never closed; `unopened`: closed, never opened
 * - `nested`: opens inside another section; `reordered`: not in the template's order
 * - `outside`: text before, between or after the sections; `empty`: the answer has no text
 */
export type TraceFaultReason =
	| 'missing'
	| 'repeated'
	| 'unclosed'
	| 'unopened'
	| 'nested'
	| 'reordered'
	| 'outside'
	| 'empty';

export interface TraceFault extends Span {
	readonly reason: TraceFaultReason;
	/** One-sentence message for display. */
	readonly message: string;
}

/** Parsed completion. Tags in the prompt are ignored, because they are not part of the completion. */
export interface Trace {
	/** Text of the first think section, even if unclosed; null if there is none. */
	readonly think: string | null;
	readonly thinkSpan: Span | null;
	/** Text of the first answer section, even if unclosed; null if there is none. */
	readonly answer: string | null;
	readonly answerSpan: Span | null;
	/** Tags in text order. */
	readonly tags: readonly TagMark[];
	/** Format errors; empty if the format is correct. At most 100 are listed. */
	readonly faults: readonly TraceFault[];
}
