/** Number of characters to parse at the end of a reply. */
const maxLength = 200_000;
/** Maximum number of list items; the rest are dropped. */
const maxItems = 1000;

/** Removes the thinking from a reply; returns '' if the thinking is unterminated. */
export function withoutThinking(reply: string): string {
	const text = reply.length > maxLength ? reply.slice(-maxLength) : reply;
	const end = text.lastIndexOf('</think>');
	if (end >= 0) return text.slice(end + '</think>'.length).trim();
	return /^\s*<think>/.test(text) ? '' : text.trim();
}

const outer = ' \t\r*_`"\'#>';

/** Strips whitespace and Markdown markup. Uses a loop because a regex would backtrack from every position. */
function bare(text: string, marks = outer): string {
	let [from, to] = [0, text.length];
	while (from < to && marks.includes(text[from] as string)) from++;
	while (to > from && marks.includes(text[to - 1] as string)) to--;
	return text.slice(from, to);
}

const itemMark = /^[ \t]*(?:[-*•]|\(?\d{1,3}[.):]|(?:\*\*)?step[ \t]+\d{1,3}[.:)]|\*\*\d{1,3}[.)]\*\*)[ \t]*(?=\S)/i;

/**
 * Parses the list in a reply: numbered or bulleted items, or a JSON array of strings. Unmarked lines after an item are
 * part of it, up to the next empty line. Duplicate items are returned once.
 * @param form `lines`: if there are no list markers, each line is an item
 * @returns null if there is no list
 */
export function readList(reply: string, form: 'marked' | 'lines' = 'marked'): string[] | null {
	const text = withoutThinking(reply);
	const items = jsonList(text) ?? markedList(text);
	const found = items.length === 0 && form === 'lines' ? text.split('\n') : items;
	const list = [...new Set(found.map((item) => item.trim()).filter((item) => item !== ''))];
	return list.length === 0 ? null : list.slice(0, maxItems);
}

function markedList(text: string): string[] {
	const items: string[] = [];
	let open = false;
	for (const line of text.split('\n')) {
		const mark = itemMark.exec(line);
		if (mark !== null) {
			items.push(line.slice(mark[0].length).trim());
			open = true;
		} else if (line.trim() === '') open = false;
		else if (open) items[items.length - 1] += `\n${line.trim()}`;
	}
	return items;
}

function jsonList(text: string): string[] | null {
	const body = /^```(?:json)?\s*\n([\s\S]*?)\n?```\s*$/.exec(text)?.[1] ?? text;
	if (!body.trimStart().startsWith('[')) return null;
	try {
		const value: unknown = JSON.parse(body);
		return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string') ? value : null;
	} catch {
		return null;
	}
}

export interface ValueForm {
	/** Lowercase words with their values. */
	readonly words: Readonly<Record<string, number>>;
	/** Range of accepted numbers, mapped to [0, 1]. */
	readonly scale: readonly [low: number, high: number];
}

/**
 * Parses the value in a reply: the last line of the form "Value: ..." (or score, rating, evaluation), or the last line
 * if it contains only a value.
 * @returns null if there is none
 */
export function readValue(reply: string, { words, scale }: ValueForm): number | null {
	const lines = withoutThinking(reply)
		.split('\n')
		.map((line) => bare(line))
		.filter((line) => line !== '');
	const named = lines.findLast((line) => valueLine.test(line));
	const line = named === undefined ? (lines.at(-1) ?? '') : named.replace(valueLine, '');
	const said = bare(line, ' \t\r*_`"\'.!').toLowerCase();
	if (Object.hasOwn(words, said)) return words[said] as number;
	const first = named === undefined ? undefined : /^[a-z]+/.exec(said)?.[0];
	if (first !== undefined && Object.hasOwn(words, first)) return words[first] as number;
	const number = /^(-?\d{1,9}(?:\.\d{1,9})?)(?:\s*(?:\/|out of)\s*(\d{1,9}))?$/.exec(said);
	if (number === null) return null;
	const [low, high] = scale;
	if (number[2] !== undefined && Number(number[2]) !== high) return null;
	const value = (Number(number[1]) - low) / (high - low);
	return value >= 0 && value <= 1 ? value : null;
}

const valueLine = /^(?:the )?(?:final )?(?:value|score|rating|evaluation|judge?ment)\b[*_]*\s*(?:is\s*:?|:|=)\s*/i;

/**
 * Parses the vote in a reply: the text after the last "best choice is", or the last line if it contains only a number.
 * @param choices number of choices, numbered from 1
 * @returns 0-based index; null if there is no vote for a valid choice
 */
export function readVote(reply: string, choices: number): number | null {
	const text = withoutThinking(reply);
	const named = [...text.matchAll(/\b(?:best|choose|chosen|choice|vote)\b[^\d\n]{0,40}?(\d{1,4})\b/gi)].at(-1)?.[1];
	const last = /^(?:choice |option |candidate )?\(?(\d{1,4})[.)]?$/i.exec(bare(text.split('\n').at(-1) ?? ''))?.[1];
	const number = named ?? last;
	if (number === undefined) return null;
	const choice = Number(number) - 1;
	return choice >= 0 && choice < choices ? choice : null;
}

/** Returns whether a critique finds nothing to improve, that is, whether a line starts with one of the phrases. */
export function saysStop(reply: string, phrases: readonly string[]): boolean {
	const wanted = phrases.map((phrase) => phrase.toLowerCase()).filter((phrase) => phrase !== '');
	return withoutThinking(reply)
		.split('\n')
		.map((line) => bare(line, `${outer}-•`).toLowerCase())
		.some((line) => wanted.some((phrase) => line.startsWith(phrase)));
}
