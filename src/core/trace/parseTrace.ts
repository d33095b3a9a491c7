import {
	r1Tags,
	type Span,
	type TagMark,
	type Trace,
	type TraceFault,
	type TraceFaultReason,
	type TraceTags,
} from './trace.ts';

const maxFaults = 100;

/** Tags that a completion must contain, in order. */
interface Expected {
	readonly section: TagMark['section'];
	readonly kind: TagMark['kind'];
	readonly text: string;
}

function expectedTags(tags: TraceTags): Expected[] {
	const list: Expected[] = [];
	if (tags.think) {
		list.push(
			{ section: 'think', kind: 'open', text: tags.think[0] },
			{ section: 'think', kind: 'close', text: tags.think[1] },
		);
	}
	if (tags.answer) {
		list.push(
			{ section: 'answer', kind: 'open', text: tags.answer[0] },
			{ section: 'answer', kind: 'close', text: tags.answer[1] },
		);
	}
	return list;
}

/** Precomputed search for template tags, because a batch parses thousands of completions. */
interface TagSearch {
	readonly expected: readonly Expected[];
	/** null if there is nothing to search for. */
	readonly pattern: RegExp | null;
	readonly byText: ReadonlyMap<string, Expected>;
}

const searches = new WeakMap<TraceTags, TagSearch>();

function searchOf(tags: TraceTags): TagSearch {
	let search = searches.get(tags);
	if (search === undefined) {
		const expected = expectedTags(tags);
		const sources = [...expected].sort((a, b) => b.text.length - a.text.length);
		const source = sources.map(({ text: tag }) => tag.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|');
		search = {
			expected,
			pattern: expected.length === 0 ? null : new RegExp(source, 'g'),
			byText: new Map(expected.map((tag) => [tag.text, tag])),
		};
		searches.set(tags, search);
	}
	return search;
}

/**
 * Finds all occurrences of all tags, in order. If two tags match at the same position, the longer one wins. Takes
 * linear time.
 */
function findTags(text: string, { pattern, byText }: TagSearch): TagMark[] {
	const marks: TagMark[] = [];
	if (pattern === null) return marks;
	pattern.lastIndex = 0;
	for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
		const { section, kind } = byText.get(match[0]) as Expected;
		marks.push({ section, kind, start: match.index, end: match.index + match[0].length });
		if (match[0] === '') pattern.lastIndex++; // An empty tag matches everywhere.
	}
	return marks;
}

/** Returns the span from the first opening tag to its closing tag or, if it is unclosed, to the next tag or the end. */
function sectionSpan(section: TagMark['section'], marks: readonly TagMark[], length: number): Span | null {
	const first = marks.findIndex((mark) => mark.section === section && mark.kind === 'open');
	if (first < 0) return null;
	const start = (marks[first] as TagMark).end;
	const rest = marks.slice(first + 1);
	const close = rest.find((mark) => mark.section === section && mark.kind === 'close') ?? rest[0];
	return { start, end: close?.start ?? length };
}

const blank = /^\s*$/;
/** Matches invisible text: whitespace, zero-width characters, variation selectors. */
const invisible = /^[\s\p{Default_Ignorable_Code_Point}]*$/u;

/**
 * Parses a completion and reports all format errors. The format requires each template tag once and in order, only
 * whitespace outside the sections, and a nonempty answer. Takes linear time for any content. If the template has no
 * answer tags, the answer is the text after the thinking.
 */
export function parseTrace(completion: string, tags: TraceTags = r1Tags): Trace {
	const search = searchOf(tags);
	const { expected } = search;
	const marks = findTags(completion, search);
	const faults: TraceFault[] = [];
	const fault = (reason: TraceFaultReason, span: Span, message: string) => {
		if (faults.length < maxFaults) faults.push({ reason, message, start: span.start, end: span.end });
	};
	const end: Span = { start: completion.length, end: completion.length };

	checkTags(marks, expected, completion, fault, end);

	const thinkSpan = tags.think ? sectionSpan('think', marks, completion.length) : null;
	let answerSpan = tags.answer ? sectionSpan('answer', marks, completion.length) : null;
	if (!tags.answer) {
		const closed = tags.think ? marks.find((mark) => mark.section === 'think' && mark.kind === 'close') : undefined;
		if (!tags.think) answerSpan = { start: 0, end: completion.length };
		else if (closed) answerSpan = { start: closed.end, end: completion.length };
	}
	if (expected.length > 0) checkOutside(marks, tags, completion, fault);
	const text = (span: Span | null) => (span === null ? null : completion.slice(span.start, span.end));
	const answer = text(answerSpan);
	if (answerSpan && invisible.test(answer as string)) fault('empty', answerSpan, 'The answer is empty.');
	return { think: text(thinkSpan), thinkSpan, answer, answerSpan, tags: marks, faults };
}

type Report = (reason: TraceFaultReason, span: Span, message: string) => void;

function checkTags(
	marks: readonly TagMark[],
	expected: readonly Expected[],
	text: string,
	fault: Report,
	end: Span,
): void {
	const seen = new Map<string, number>();
	const open: TagMark[] = [];
	let furthest = -1;
	for (const mark of marks) {
		const tag = text.slice(mark.start, mark.end);
		const place = expected.findIndex((one) => one.text === tag);
		const times = (seen.get(tag) ?? 0) + 1;
		seen.set(tag, times);
		if (times > 1) fault('repeated', mark, `${tag} occurs more than once.`);
		else if (place < furthest) fault('reordered', mark, `${tag} comes after ${expected[furthest]?.text}.`);
		furthest = Math.max(furthest, place);
		const inside = open.at(-1);
		if (mark.kind === 'open') {
			if (inside) fault('nested', mark, `${tag} opens inside ${text.slice(inside.start, inside.end)}.`);
			// Deeper nesting is already an error; the limit keeps adversarial input linear.
			if (open.length < 8) open.push(mark);
			continue;
		}
		const opened = open.findLastIndex((one) => one.section === mark.section);
		if (opened < 0) fault('unopened', mark, `${tag} has no matching opening tag.`);
		else open.splice(opened);
	}
	for (const mark of open) fault('unclosed', mark, `${text.slice(mark.start, mark.end)} is not closed.`);
	for (const tag of expected) if (!seen.has(tag.text)) fault('missing', end, `${tag.text} is missing.`);
}

/** Reports text other than whitespace before, between and after sections. */
function checkOutside(marks: readonly TagMark[], tags: TraceTags, text: string, fault: Report): void {
	let from = 0;
	let depth = 0;
	const check = (to: number) => {
		if (depth === 0 && to > from && !blank.test(text.slice(from, to))) {
			fault('outside', { start: from, end: to }, 'There is text outside the tags.');
		}
	};
	for (const [i, mark] of marks.entries()) {
		// Without think tags, the thinking is the untagged text before the answer.
		if (tags.think || i > 0) check(mark.start);
		depth = mark.kind === 'open' ? depth + 1 : Math.max(0, depth - 1);
		from = mark.end;
	}
	// Without answer tags, the answer follows the thinking.
	if (tags.answer) check(text.length);
}

/**
 * Returns the answer to score: the trimmed text between the only opening and the only closing answer tag, with no tags
 * inside. Otherwise returns null, so that a completion cannot offer several answers.
 */
export function soleAnswer(trace: Trace, tags: TraceTags = r1Tags): string | null {
	if (trace.answer === null || trace.answerSpan === null) return null;
	const answers = trace.tags.filter((mark) => mark.section === 'answer');
	if (tags.answer) {
		const [open, close] = answers;
		if (answers.length !== 2 || open?.kind !== 'open' || close?.kind !== 'close') return null;
	} else if (trace.tags.length !== (tags.think ? 2 : 0)) return null;
	const { start, end } = trace.answerSpan;
	if (trace.tags.some((mark) => mark.start >= start && mark.end <= end)) return null;
	const answer = trace.answer.trim();
	return answer === '' ? null : answer;
}
