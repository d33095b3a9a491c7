import { childrenOf, leavesOf, pathTo, soundParents } from '../../src/core/trace/branches.ts';
import { findText } from '../../src/core/trace/findText.ts';
import type { TraceTags } from '../../src/core/trace/trace.ts';
import type { TurnsContent } from '../../src/protocol/explorerMessages.ts';
import { type CompletionTrace, noTags, type RegionBlock, traceCompletion } from '../lib/trace/completionTrace.ts';
import type { Mark } from '../lib/trace/marks.ts';
import { textBlocks } from '../lib/trace/textBlocks.ts';

export type TurnContent = TurnsContent['turns'][number];
export type CallContent = TurnContent['calls'][number];
export type MadeContent = NonNullable<TurnsContent['made']>[number];
export type MadeCallContent = MadeContent['calls'][number];

/** A row in a conversation. */
export type TurnRow =
	| {
			readonly kind: 'head';
			readonly message: number;
			readonly turn: TurnContent;
			readonly answers: CallPlace | null;
			/** Turn that starts with the message, with its 1-based number in the conversation. */
			readonly made: { readonly number: number; readonly turn: MadeContent } | null;
			/** Whether the message is the result of a failed call. */
			readonly failed: boolean;
			/** Whether the content is folded; null if it cannot be folded. */
			readonly folded: boolean | null;
	  }
	| {
			readonly kind: 'block';
			readonly message: number;
			readonly region: string;
			/** Role label, shown on the first block of a message. */
			readonly name: string | null;
			readonly trace: Pick<CompletionTrace, 'text' | 'marks'>;
			readonly block: RegionBlock;
	  }
	| {
			readonly kind: 'call';
			readonly message: number;
			readonly call: CallContent;
			readonly result: number | null;
			readonly made: MadeCallContent | null;
	  }
	/** The environment's state after a turn that starts with the message. */
	| {
			readonly kind: 'state';
			readonly message: number;
			readonly number: number;
			readonly text: string;
			readonly folded: boolean;
	  }
	/** A branch point: `next` contains the first message of each branch, and `chosen` is the one shown. */
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
	/** Turns, keyed by their first message. */
	readonly made: ReadonlyMap<number, MadeContent>;
	readonly #children: ReadonlyMap<number | null, readonly number[]>;

	constructor({ turns, parents, made = [] }: TurnsContent) {
		this.turns = turns;
		this.made = new Map(made.flatMap((turn) => (turn.message === null ? [] : [[turn.message, turn] as const])));
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

/** Maximum length of arguments that stay on one line. */
const shortArguments = 60;

/** Indents JSON unless it is short. Leaves other text unchanged. */
export function readableArguments(text: string): string {
	if (text.length > 200_000) return text;
	try {
		const value: unknown = JSON.parse(text);
		if (typeof value !== 'object' || value === null) return text;
		const short = JSON.stringify(value);
		return short.length <= shortArguments ? short : JSON.stringify(value, null, 2);
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

/** Results longer than this are initially folded. */
const longResult = { characters: 600, lines: 12 } as const;

/** Returns whether a message is the result of a call. */
export function isResult({ role }: TurnContent): boolean {
	return role === 'tool' || role === 'function';
}

/** Returns whether a message is a long result that does not contain the search text. */
export function foldsAtFirst({ content }: TurnContent, search: string): boolean {
	if (search !== '' && findText(content, search).length > 0) return false;
	return content.length > longResult.characters || content.split('\n', longResult.lines + 1).length > longResult.lines;
}

/** Cross-references between the calls and results on a path. */
interface Answered {
	/** Tool call that each message responds to, by message index. */
	readonly calls: ReadonlyMap<number, CallPlace & { readonly made: MadeCallContent | null }>;
	/** Index of the message with the result of each call. */
	readonly results: ReadonlyMap<CallContent, number>;
}

function answeredOf(tree: TurnTree, path: readonly number[]): Answered {
	const onPath = new Set(path);
	const byId = new Map<string, CallPlace>();
	const calls = new Map<number, CallPlace & { made: MadeCallContent | null }>();
	const results = new Map<CallContent, number>();
	for (const message of path) {
		const turn = tree.turns[message] as TurnContent;
		const made = tree.made.get(message);
		for (const [i, call] of turn.calls.entries()) {
			if (call.id !== null) byId.set(call.id, { message, call });
			const known = made?.calls[i];
			if (known === undefined || known.result === null || !onPath.has(known.result)) continue;
			calls.set(known.result, { message, call, made: known });
			results.set(call, known.result);
		}
		const answered = turn.callId === null ? undefined : byId.get(turn.callId);
		if (answered === undefined || calls.has(message)) continue;
		calls.set(message, { ...answered, made: null });
		results.set(answered.call, message);
	}
	return { calls, results };
}

/** Returns the rows for the state after a turn, if it is recorded. They follow the results. */
function stateRows({ state }: MadeContent, message: number, number: number, shown: boolean): TurnRow[] {
	if (state === null) return [];
	const head: TurnRow = { kind: 'state', message, number, text: state, folded: !shown };
	return shown ? [head, ...blocksOf(readableArguments(state), [], message, 'given', null)] : [head];
}

/**
 * Returns the rows for one path through the tree. Parses tags in assistant messages only.
 * @param isFolded whether the content of a result is hidden
 * @param showsState whether the state after the turn that starts with a message is expanded
 */
export function turnRows(
	tree: TurnTree,
	leaf: number,
	tags: TraceTags,
	search: string,
	isFolded: (message: number) => boolean = () => false,
	showsState: (message: number) => boolean = () => false,
): TurnRow[] {
	const path = tree.path(leaf);
	const answered = answeredOf(tree, path);
	const rows: TurnRow[] = [];
	let turns = 0;
	const branch = (message: number | null, chosen: number | undefined): void => {
		const next = tree.next(message);
		if (next.length > 1 && chosen !== undefined) rows.push({ kind: 'branch', message, next, chosen });
	};
	let state: TurnRow[] = [];
	branch(null, path[0]);
	for (const [at, message] of path.entries()) {
		const turn = tree.turns[message] as TurnContent;
		const answers = answered.calls.get(message) ?? null;
		const made = tree.made.get(message);
		if (!isResult(turn)) rows.push(...state.splice(0));
		const folded = turn.content !== '' && isResult(turn) ? isFolded(message) : null;
		rows.push({
			...{ kind: 'head', message, turn, answers, folded },
			made: made === undefined ? null : { number: ++turns, turn: made },
			failed: answers?.made?.failed === true,
		});
		if (turn.thinking !== null) {
			const trace = traceCompletion(turn.thinking, noTags);
			const marks = [...trace.marks, ...found(turn.thinking, search)].sort((a, b) => a.start - b.start);
			rows.push(...blocksOf(turn.thinking, marks, message, 'think', 'Thinking'));
		}
		if (turn.content !== '' && folded !== true) {
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
		for (const [i, call] of turn.calls.entries()) {
			const known = made?.calls[i] ?? null;
			rows.push({ kind: 'call', message, call, result: answered.results.get(call) ?? null, made: known });
			const text = readableArguments(call.arguments);
			rows.push(...blocksOf(text, found(text, search), message, 'call', null));
			if (known?.content) rows.push(...blocksOf(known.content, found(known.content, search), message, 'given', null));
		}
		if (made !== undefined) state = stateRows(made, message, turns, showsState(message));
		branch(message, path[at + 1]);
	}
	rows.push(...state);
	return rows;
}
