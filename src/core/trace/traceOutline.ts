import type { Span } from './trace.ts';

/**
 * Part of a trace, for the outline and for folding.
 * - `section`: a pair of tags, or an unclosed tag; `step`: a reasoning step; `boxed`: a `\boxed{}`
 */
export interface TraceNode extends Span {
	readonly kind: 'section' | 'step' | 'boxed';
	readonly title: string;
	/** First words in a step or section. */
	readonly detail: string;
	readonly children: readonly TraceNode[];
}

type OpenNode = { -readonly [K in keyof TraceNode]: TraceNode[K] } & { children: OpenNode[] };

const tagNames = 'think|thinking|reasoning|answer|solution|critique|reflection|tool_call|tool_response';
/**
 * Matches the start of a part: a tag, a step heading at the start of a line, or a box. Linear, because no repetitions
 * are nested.
 */
const marks = new RegExp(
	[
		`<(?<close>/?)(?<tag>${tagNames})>`,
		// "Step 3:", "**Step 3**", "## Heading", "3. text", "3) text"
		'(?<=^|\\n)[ \\t]{0,8}(?<step>(?:\\*\\*|#{1,6} ?)?[Ss]tep \\d{1,4}\\b|#{1,6} (?=\\S)|\\d{1,4}[.)] (?=\\S))',
		'\\\\boxed\\s?(?<box>\\{)',
	].join('|'),
	'g',
);
const tagAt = new RegExp(`^</?(?:${tagNames})>`);
/** Maximum number of parts. */
const largest = 20_000;
const deepest = 32;

/**
 * Returns the sections, steps and boxed answers in a trace, nested as in the text. Accepts any text and takes linear
 * time.
 */
export function traceOutline(text: string): TraceNode[] {
	const roots: OpenNode[] = [];
	const open: OpenNode[] = [];
	let made = 0;
	let boxEnd = 0;
	const add = (node: OpenNode, stays: boolean) => {
		(open.at(-1)?.children ?? roots).push(node);
		made++;
		if (stays) open.push(node);
	};
	/** Ends the current step, at the next step or at the end of its section. */
	const endStep = (end: number) => {
		if (open.at(-1)?.kind !== 'step') return;
		(open.pop() as OpenNode).end = trimEnd(text, end);
	};
	for (const match of text.matchAll(marks)) {
		if (made >= largest) break;
		const { close, tag, step, box } = match.groups as Record<string, string | undefined>;
		const start = match.index;
		if (start < boxEnd) continue; // A box is a single part, so anything inside it is skipped.
		const end = start + match[0].length;
		if (tag !== undefined && close === '/') {
			const at = open.findLastIndex((node) => node.kind === 'section' && node.title === tag);
			if (at < 0) continue;
			for (const node of open.splice(at)) node.end = node.kind === 'step' ? trimEnd(text, start) : end;
		} else if (tag !== undefined) {
			endStep(start);
			if (open.length >= deepest) continue;
			add({ kind: 'section', title: tag, detail: firstWords(text, end), start, end: text.length, children: [] }, true);
		} else if (step !== undefined) {
			endStep(start);
			const head = start + match[0].indexOf(step);
			add(
				{
					kind: 'step',
					title: stepTitle(step),
					detail: firstWords(text, head),
					start: head,
					end: text.length,
					children: [],
				},
				open.length < deepest,
			);
		} else if (box !== undefined) {
			const closing = closingBrace(text, end);
			boxEnd = closing === null ? end : closing + 1;
			const content = text.slice(end, Math.min(closing ?? end, end + 80)).trim();
			const title = closing === null ? '\\boxed{' : `\\boxed{${content}}`;
			add({ kind: 'boxed', title, detail: '', start, end: boxEnd, children: [] }, false);
		}
	}
	for (const node of open) node.end = node.kind === 'step' ? trimEnd(text, text.length) : text.length;
	return roots;
}

/** Returns the offset of the brace that closes the one at `from`; null if it is not closed before the next tag. */
function closingBrace(text: string, from: number): number | null {
	let depth = 1;
	// Limits the search; otherwise an unclosed box would make every later box scan the whole text again.
	const limit = Math.min(text.length, from + 1000);
	for (let i = from; i < limit; i++) {
		const character = text[i];
		if (character === '\\') i++;
		else if (character === '{') depth++;
		else if (character === '}' && --depth === 0) return i;
		else if (character === '<' && tagAt.test(text.slice(i, i + 20))) return null;
	}
	return null;
}

const stepTitle = (head: string) => {
	const number = /\d+/.exec(head)?.[0];
	return number === undefined ? 'heading' : `step ${number}`;
};

function firstWords(text: string, from: number): string {
	const line =
		text
			.slice(from, from + 400)
			.trimStart()
			.split('\n', 1)[0] ?? '';
	return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}

function trimEnd(text: string, end: number): number {
	let last = end;
	while (last > 0 && /\s/.test(text[last - 1] as string)) last--;
	return last;
}
