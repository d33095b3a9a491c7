import { groupEnd } from './brackets.ts';
import { withoutFullWidth } from './fullWidth.ts';

/** Longer answers are not read. */
export const mostAnswerLength = 3_000;
/** Of a completion, the end is read. */
const mostTextLength = 200_000;

interface Boxed {
	readonly content: string;
	readonly start: number;
	readonly end: number;
}

/** Every `\boxed{…}` and `\fbox{…}` that is not inside another. A box that is not closed is none. */
export function findBoxed(text: string): Boxed[] {
	const boxes: Boxed[] = [];
	const pattern = /\\{1,2}(?:boxed|fbox)(?![a-zA-Z])\s*(?=[{\d])/g;
	for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
		const open = match.index + match[0].length;
		if (text[open] !== '{') {
			// \boxed 5
			boxes.push({ content: text[open] as string, start: match.index, end: open + 1 });
			continue;
		}
		const end = groupEnd(text, open);
		if (end < 0) continue;
		boxes.push({ content: text.slice(open + 1, end), start: match.index, end: end + 1 });
		pattern.lastIndex = end + 1;
	}
	return boxes;
}

/** What may stand between boxes that are one answer in several parts. */
const joint =
	/^(?:[\s,;.$&\\()[\]]|\\(?:quad|qquad|text|mbox)(?![a-zA-Z])|[{}]|\band\b|\bor\b|[a-zA-Z](?:_?\{?\w{1,3}\}?)?(?:\([a-z]\))?\s?=)*$/;
/** Or a few words with "and" among them: `\boxed{1} papers and \boxed{2} bins`. */
const wordedJoint = /^[^.!?\d=]{0,20}\band\b[^.!?\d=]{0,20}$/;

/** The answer that boxes state: the last, with those before it that only a comma, "and" or "or" divides from it. */
function boxedAnswer(
	text: string,
): { readonly answer: string; readonly others: readonly string[]; readonly end: number } | null {
	const boxes = findBoxed(text);
	const last = boxes.at(-1);
	if (last === undefined) return null;
	let first = boxes.length - 1;
	while (first > 0) {
		const between = text.slice((boxes[first - 1] as Boxed).end, (boxes[first] as Boxed).start);
		if (between.length > 60 || !(joint.test(between) || wordedJoint.test(between))) break;
		first--;
	}
	const group = boxes.slice(first).map(({ content }) => content);
	const distinct = group.filter((content, i) => group.indexOf(content) === i);
	// A percent sign or unit behind the box belongs to it.
	const behind = /^\s*\$?\s*(\\?%|percent\b|pct\b|(?:\^\s*\{?\s*\\circ\s*\}?))/.exec(
		text.slice(last.end, last.end + 20),
	);
	const answer = distinct.length > 1 ? distinct.join(', ') : `${last.content}${behind === null ? '' : ` ${behind[1]}`}`;
	return { answer, others: boxes.slice(0, first).map(({ content }) => content), end: last.end };
}

/** `The answer is …`, `Answer: …`, `#### …`, as in Minerva's and GSM8K's conventions. */
const stated =
	/(?:\banswers?(?:\*\*)?(?:\s+to (?:this|the) (?:question|problem|exercise))?(?:\s+(?:(?:therefore|thus|then)\s+)?(?:is|are|was|would be|will be|must be|should be|equals)(?:\s+(?:therefore|thus|simply|just|still|indeed|then))?\s*[:=]?|\s*[:=]|\s*(?=\$|\\[([b])|(?<=final answers?)\s*(?=\n))|####)(?=[\s$\\*`"'(])|\b(?:respuesta|r[ée]ponse|resposta|risposta|antwort)(?:\s+final[ae]?)?\s+(?:es|est|é|è|ist|lautet)\s*:?(?=[\s$\\*(])|答案(?:是|为|為)?\s*:?(?=[\s$\\*(\d.+-])/gi;
const statement =
	/(?:\b(?:it|that|which)['’]s\s+(?=\S))|\b(?:is|are|was|were|equals|equal to|get|gets|obtain|obtains|have|has|had|gives|yields|makes|made|costs?|takes?|took|needs?|earns?|pays?|spends?|total of|left with|be|(?:increase|decrease|rise|grow|fall|change)[sd]? by)(?:\s+(?:therefore|thus|simply|just|exactly|a total of|equal to|about|approximately))*\s*:?\s+(?=\S)|(?<![<>!=:\\])=(?!=)/gi;
const finalStatement = /\bfinal answer(?: is)?:?\s*(?=[$\d\\(-])/i;
/** The speaker takes back what was said. */
const correction = /\b(?:wait|actually|sorry|correction|mistake|scratch that|oops|no,|not right|rather)\b/i;

/** The speaker offers more than one answer. */
const hedge = /\b(?:or|either|maybe|perhaps|possibly|could|might|alternatively|unless|otherwise)\b/i;

/** What is only assumed, and what a grader is asked for, is no answer. */
const supposed = /^(?:so |now |then )?(?:let|suppose|assume|consider)\b|\bgraders?\b/i;

/** White space that says no more than a shorter piece of it. Patterns would try every way to divide it. */
const longBlank = /\s{9,}/g;

/** With long stretches of white space made short, which no answer has. */
export function withoutLongBlanks(text: string): string {
	return text.replace(longBlank, (blank) => (blank.includes('\n') ? '\n\n' : ' '));
}

/** Without the special tokens of a chat template and what follows them; displayed mathematics on one line. */
function tidied(whole: string): string {
	const text = withoutFullWidth(withoutLongBlanks(whole));
	const end = text.search(/<\|[a-z_]{2,30}\|>/);
	const cut = (end > 0 ? text.slice(0, end) : text)
		.replace(/\\"/g, '"')
		.replace(/\bI hope (?:it|this) is correct\.?/gi, '');
	return cut
		.replace(/(?<=^|\s)\*\*|\*\*(?=[\s.,;:!?]|$)/g, '')
		.replace(/(\$\$|\\\[)((?:(?!\\\[)[^$]){0,2000}?)(\$\$|\\\])/g, (whole) => whole.replace(/\s+/g, ' '));
}

/** "5 is the answer": what stands before counts. */
const before =
	/(?:^|[.!?,:]\s+)(?:so|thus|hence|therefore|then)?,?\s*([^.!?]{1,300}?)\s+(?:is|are)\s+(?:the|our|my|your)\s+(?:final\s+|correct\s+|required\s+|desired\s+)?(?:answer|solution|result)s?[.!]?\s*$/i;

const connective =
	/^(?:(?:so|thus|hence|therefore|then|and|finally|now|we (?:get|have|find|obtain)|it follows that|this gives|which gives)(?:,\s*|\s+))+(?=\S)/i;

/** Up to the end of the sentence: a full stop before a space, a line break, or a clause that gives reasons. */
function clause(text: string): string {
	const end =
		/\n|[.!?](?=\s+[A-Z"*\\]|\s*$|["*]?\s*$)|[.!?]\s+(?=[a-z]{2,})|,?\s+(?:because|since|as (?:we|it|the)|so that|which|where(?:as)?|when|by|for (?:each|every)|in total|in all(?= *[.!]?$)|altogether|every (?:day|week|month|year)|at the|after|but)\b|,\s+(?:so|and (?:we|so|this)|as)\b/.exec(
			text,
		);
	return (end === null ? text : text.slice(0, end.index)).trim();
}

/** Delimiters that open again close what was open: else each of many that are never closed would be read to the end. */
const mathSegment = /\$\$([^$]+)\$\$|\$([^$]+)\$|\\\(((?:(?!\\[()]).)*)\\\)|\\\[((?:(?!\\[[\]]).)*)\\\]/gs;

/** The last piece between mathematics delimiters. */
function lastMath(text: string): string | null {
	let last: string | null = null;
	for (const match of text.matchAll(mathSegment)) last = match[1] ?? match[2] ?? match[3] ?? match[4] ?? null;
	return last;
}

/**
 * The readings of what a text states as its answer, the most literal first: later ones are for a text that cannot be read
 * as it stands. All readings are of one and the same statement, so a text cannot offer several answers. In order:
 *
 * 1. the last `\boxed{…}` (with boxes that only "and" or a comma divides from it, as one answer)
 * 2. what follows the last "the answer is", "answer:" or `####`, unless the text takes it back
 * 3. the text itself
 * 4. what the last sentence says: after "is", "=", "costs" and the like; the last mathematics in it
 *
 * @param sole the text is an answer section: every box in it must state the same, else it is a list of candidates, and with
 * "or", "maybe" and the like only the whole text counts
 */
export function statedAnswers(whole: string, sole = false): string[] {
	const text = tidied(whole.length > mostTextLength ? whole.slice(-mostTextLength) : whole);
	const boxed = boxedAnswer(text);
	// A final answer that is stated after the last box replaces it.
	const final = boxed === null || sole ? -1 : text.slice(boxed.end).search(finalStatement);
	if (boxed !== null && final < 0) {
		if (sole && boxed.others.some((other) => other.trim() !== boxed.answer.trim())) {
			return [[...boxed.others, boxed.answer].join(', ')];
		}
		return [boxed.answer];
	}
	if (boxed === null && /\\{1,2}boxed\s*\{/.test(text)) return []; // a box that is not closed
	if (sole && hedge.test(text)) return text.length <= mostAnswerLength ? [text.trim()] : [];
	const readings: string[] = [];
	let answered: string | null = null;
	let rest = text;
	for (const match of text.matchAll(stated)) {
		rest = text.slice(match.index + match[0].length);
		answered = rest;
	}
	if (answered !== null && correction.test(rest)) {
		const later = lastStatement(rest.slice(rest.search(correction)));
		return later === null ? [] : [later];
	}
	if (answered !== null) {
		const line = answered.replace(/^[\s:*]+/, '');
		const said = clause(line);
		readings.push(...within(said));
		return readings.filter((one) => one !== '' && one.length <= mostAnswerLength);
	}
	if (text.length <= mostAnswerLength) readings.push(text.trim().replace(connective, ''));
	if (/\s/.test(text.trim())) {
		const ahead = before.exec(text)?.[1];
		const last = ahead ?? lastStatement(text);
		const counted = last === null ? countedIn(text) : null;
		if (last !== null && last !== text.trim()) readings.push(...within(last));
		else if (counted !== null) readings.push(counted);
		else {
			const math = lastMath(text);
			if (math !== null && /[.!?:]\s|\b(?:is|are|get|have|that)\b/.test(text)) readings.push(math.trim());
		}
	}
	return readings.filter((one) => one !== '' && one.length <= mostAnswerLength);
}

/** A clause, what it says after its verb, and its only mathematics. */
function within(said: string): string[] {
	const readings = [said];
	const segments = said.match(mathSegment) ?? [];
	const verb = lastStatement(said);
	if (verb !== null && verb !== said) readings.push(verb);
	if (segments.length === 1) {
		const math = lastMath(said);
		// A unit behind it belongs to it; words before it do not.
		const at = said.lastIndexOf(segments[0] as string);
		if (math !== null) readings.push(said.slice(at).trim(), math.trim());
	} else if (segments.length === 0) {
		const amount = onlyNumber(said);
		if (amount !== null) readings.push(amount);
	}
	return readings;
}

/** The only number of a clause, with what follows it. */
function onlyNumber(said: string): string | null {
	const numbers = [...said.matchAll(/(?<![\w.,/^\\-])-?[$€£]?\d[\d,]*(?:\.\d+)?(?:\s?\/\s?\d+)?/g)];
	const [first] = numbers;
	if (numbers.length !== 1 || first === undefined || /\d/.test(said.slice(0, first.index))) return null;
	return said.slice(first.index);
}

/** What makes the only number of a sentence something else than what it states. */
const unstated =
	/\b(?:not|no|never|neither|nor|cannot|than|least|most|more|less|fewer|up to|over|under|between|about|around|roughly|approximately|nearly|almost|if|suppose|assume|let|try|guess|step|problem|question|part|case|example|choice|option|multipl\w*|divid\w*|add\w*|subtract\w*|times|plus|minus|half|should|must|would|may|can|will|shall|scores?|grades?|graders?|rewards?|marks?|returns?|points?|instructions?|half|twice|double|squared?|cubed?|roots?)\b|n['’]t\b|[?^_=<>+*/~≈≤≥≠√%]/i;

/** The only number of the last sentence and its unit, whatever the verb: `It travels 12km/h.` null: it may state something else. */
function countedIn(text: string): string | null {
	const sentence = text
		.trim()
		.split(/\n+|(?<=[.!?])\s+(?=[A-Z$\\])/)
		.at(-1)
		?.trim();
	// A subject first: an instruction to whoever grades states nothing.
	const named =
		/^(?:(?:so|thus|hence|therefore|then|finally),?\s+)?(?:the|an?|it|he|she|they|we|his|her|its|their|this)\s/i;
	if (sentence === undefined || !named.test(sentence) || correction.test(sentence) || hedge.test(sentence)) return null;
	const amount = onlyNumber(clause(sentence));
	if (
		amount === null ||
		!/[\p{L}°]/u.test(amount) ||
		/\d/.test(sentence.slice(sentence.indexOf(amount) + amount.length))
	)
		return null;
	// A slash in a unit divides nothing.
	return unstated.test(sentence.replace(/(?<=\p{L})\/(?=\p{L})/gu, '')) ? null : amount;
}

/** What follows the last verb or equals sign of the last sentence that has one. */
function lastStatement(text: string): string | null {
	const sentences = text
		.split(/\n+|(?<=[.!?])\s+(?=[A-Z$\\])/)
		.map((one) => one.trim())
		.filter((one) => one !== '')
		.slice(-3);
	const sentence = sentences.at(-1);
	if (sentence === undefined || correction.test(sentence) || sentence.length > mostAnswerLength) return null;
	if (supposed.test(sentence)) return null;
	let found: string | null = null;
	for (const match of sentence.matchAll(statement)) {
		// An equals sign inside mathematics delimiters or braces belongs to an equation.
		const after = sentence.slice(match.index + match[0].length);
		if (match[0].trim() === '=') {
			const before = sentence.slice(0, match.index);
			// A chain of numbers is one answer, or none; it is no sentence.
			if (!/(?<![\\a-zA-Z])[a-zA-Z]{3,}/.test(before)) continue;
			if ((before.match(/(?<!\\)\$/g)?.length ?? 0) % 2 === 1 || /\\[([](?:(?!\\[()[\]]).)*$/.test(before)) continue;
		}
		found = after;
	}
	if (found === null) return null;
	const said = clause(found.trim());
	return said === '' || /^not\b/i.test(said) ? null : said;
}
