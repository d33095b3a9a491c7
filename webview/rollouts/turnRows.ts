import { childrenOf, leavesOf, pathTo, soundParents } from '../../src/core/trace/branches.ts';
import { findText } from '../../src/core/trace/findText.ts';
import type { TraceTags } from '../../src/core/trace/trace.ts';
import type { TurnsContent } from '../../src/protocol/explorerMessages.ts';
import { type CompletionTrace, noTags, type RegionBlock, traceCompletion } from '../lib/trace/completionTrace.ts';
import type { Mark } from '../lib/trace/marks.ts';
import { textBlocks } from '../lib/trace/textBlocks.ts';

export type TurnContent = TurnsContent['turns'][number];
export type CallContent = TurnContent['calls'][number];

/** A row in a conversation. */
export type TurnRow =
	| { readonly kind: 'head'; readonly message: number; readonly turn: TurnContent; readonly answers: CallPlace | null }
	| {
			readonly kind: 'block';
			readonly message: number;
			readonly region: string;
			/** Role label, shown on the first block of a message. */
			readonly name: string | null;
			readonly trace: Pick<CompletionTrace, 'text' | 'marks'>;
			readonly block: RegionBlock;
	  }
	| { readonly kind: 'call'; readonly message: number; readonly call: CallContent; readonly result: number | null }
	/** A branch: `next` are the first messages of each branch, `chosen` the one shown. */
	| {
			readonly kind: 'branch';
			readonly message: number | null;
			readonly next: readonly number[];
			readonly chosen: number;
	  };

/** Location of a call in an earlier message. */
export interface CallPlace {
	readonly message: number;
	readonly call: CallContent;
}

/** A conversation as a tree. Without branches, it has a single leaf. */
export class TurnTree {
	readonly turns: readonly TurnContent[];
	readonly parents: readonly (number | null)[];
	/** Messages without a successor. */
	readonly leaves: readonly number[];
	readonly #children: ReadonlyMap<number | null, readonly number[]>;

	constructor({ turns, parents }: TurnsContent) {
		this.turns = turns;
		this.parents = soundParents(parents, turns.length);
		this.leaves = leavesOf(this.parents);
		this.#children = childrenOf(this.parents);
	}

	/** Returns the messages from the root to a leaf. */
	path(leaf: number): number[] {
		return leaf >= 0 && leaf < this.turns.length ? pathTo(leaf, this.parents) : [];
	}

	/** Returns the messages that follow a message, or the prompt if `message` is null. */
	next(message: number | null): readonly number[] {
		return this.#children.get(message) ?? [];
	}

	/** Returns the first leaf below a message. */
	leafBelow(message: number): number {
		let at = message;
		for (let next = this.next(at)[0]; next !== undefined; next = this.next(at)[0]) at = next;
		return at;
	}
}

/** Indents JSON. Leaves other text unchanged. */
export function readableArguments(text: string): string {
	if (text.length > 200_000) return text;
	try {
		const value: unknown = JSON.parse(text);
		return typeof value === 'object' && value !== null ? JSON.stringify(value, null, 2) : text;
	} catch {
		return text;
	}
}

function blocksOf(
	text: string,
	marks: readonly Mark[],
	message: number,
	region: string,
	name: string | null,
): TurnRow[] {
	const whole = { kind: 'plain', start: 0, end: text.length } as const;
	return textBlocks(text).map((block, i) => ({
		kind: 'block',
		message,
		region,
		name,
		trace: { text, marks },
		block: { ...block, region: whole, first: i === 0 },
	}));
}

const found = (text: string, search: string): Mark[] =>
	findText(text, search).map((match): Mark => ({ ...match, kind: 'found' }));

const sectionNames: Readonly<Record<string, string>> = {
	think: 'Thinking',
	answer: 'Answer',
	outside: 'Outside tags',
};

/** Returns the rows for one path through the tree. Parses tags in assistant messages only. */
export function turnRows(tree: TurnTree, leaf: number, tags: TraceTags, search: string): TurnRow[] {
	const path = tree.path(leaf);
	const calls = new Map<string, CallPlace>();
	const results = new Map<string, number>();
	for (const message of path) {
		const turn = tree.turns[message] as TurnContent;
		for (const call of turn.calls) if (call.id !== null) calls.set(call.id, { message, call });
		if (turn.callId !== null) results.set(turn.callId, message);
	}
	const rows: TurnRow[] = [];
	const branch = (message: number | null, chosen: number | undefined): void => {
		const next = tree.next(message);
		if (next.length > 1 && chosen !== undefined) rows.push({ kind: 'branch', message, next, chosen });
	};
	branch(null, path[0]);
	for (const [at, message] of path.entries()) {
		const turn = tree.turns[message] as TurnContent;
		const answers = turn.callId === null ? null : (calls.get(turn.callId) ?? null);
		rows.push({ kind: 'head', message, turn, answers });
		if (turn.thinking !== null) {
			const trace = traceCompletion(turn.thinking, noTags);
			const marks = [...trace.marks, ...found(turn.thinking, search)].sort((a, b) => a.start - b.start);
			rows.push(...blocksOf(turn.thinking, marks, message, 'think', 'Thinking'));
		}
		if (turn.content !== '') {
			const spoken = turn.role === 'assistant';
			const trace = traceCompletion(turn.content, spoken ? tags : noTags);
			// Intermediate messages have no tags, so missing tags are not a format error.
			const tagged = trace.trace.tags.length > 0;
			const own = tagged ? trace.marks : trace.marks.filter(({ kind }) => spoken && kind.startsWith('behavior-'));
			const marks = [...own, ...found(turn.content, search)].sort((a, b) => a.start - b.start);
			if (!tagged) rows.push(...blocksOf(turn.content, marks, message, spoken ? 'plain' : 'given', null));
			else {
				for (const block of trace.blocks) {
					const { kind } = block.region;
					rows.push({
						kind: 'block',
						message,
						region: kind,
						name: sectionNames[kind] ?? null,
						trace: { text: turn.content, marks },
						block,
					});
				}
			}
		}
		for (const call of turn.calls) {
			rows.push({ kind: 'call', message, call, result: call.id === null ? null : (results.get(call.id) ?? null) });
			const text = readableArguments(call.arguments);
			rows.push(...blocksOf(text, found(text, search), message, 'call', null));
		}
		branch(message, path[at + 1]);
	}
	return rows;
}
