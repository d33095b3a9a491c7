import type { Template } from '../text/template.ts';

export type TraceSection = 'think' | 'answer';
export type TraceTags = Pick<Template, TraceSection>;

/** Those of the template `r1`; the default wherever neither a recipe nor a policy names others. */
export const r1Tags = {
	think: ['<think>', '</think>'],
	answer: ['<answer>', '</answer>'],
} as const satisfies TraceTags;

/** Offsets are UTF-16 code units of the completion; `end` is exclusive. */
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
	/** One sentence for a person. */
	readonly message: string;
}

/** A completion taken apart. Judged on the completion alone: a prompt that holds the tags proves nothing. */
export interface Trace {
	/** Text of the first think section, even if it was never closed; null: none was opened. */
	readonly think: string | null;
	readonly thinkSpan: Span | null;
	/** Text of the first answer section, even if it was never closed; null: none was opened. */
	readonly answer: string | null;
	readonly answerSpan: Span | null;
	/** Every tag in the order of the text. */
	readonly tags: readonly TagMark[];
	/** Empty: the form is right. At most 100 are listed. */
	readonly faults: readonly TraceFault[];
}
