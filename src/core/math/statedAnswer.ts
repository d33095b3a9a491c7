import { groupEnd } from './brackets.ts';
import { withoutFullWidth } from './fullWidth.ts';

/** Maximum answer length; longer answers are not parsed. */
export const maxAnswerLength = 3_000;
/** Maximum number of characters read from the end of a completion. */
const maxTextLength = 200_000;

interface Boxed {
	readonly content: string;
	readonly start: number;
	readonly end: number;
}

/** Returns all outermost `\boxed{…}` and `\fbox{…}` commands. Unclosed boxes are ignored. */
export function findBoxed(text: string): Boxed[] {
	const boxes: Boxed[] = [];
	const pattern = /\\{1,2}(?:boxed|fbox)(?![a-zA-Z])\s*(?=[{\d])/g;
	for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
		const open = match.index + match[0].length;
		if (text[open] !== '{') {
			// Without braces, as in \boxed 5, the content is a single character.
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

/** Text allowed between boxes that form a multi-part answer. */
const joint =
	/^(?:[\s,;.$&\\()[\]]|\\(?:quad|qquad|text|mbox)(?![a-zA-Z])|[{}]|\band\b|\bor\b|[a-zA-Z](?:_?\{?\w{1,3}\}?)?(?:\([a-z]\))?\s?=)*$/;
/** A few words that include "and" are also allowed: `\boxed{1} papers and \boxed{2} bins`. */
const wordedJoint = /^[^.!?\d=]{0,20}\band\b[^.!?\d=]{0,20}$/;

/** Returns the boxed answer: the last box, plus preceding boxes separated from it only by a comma, "and", or "or". */
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
	// A percent sign or unit after the box is part of the answer.
	const behind = /^\s*\$?\s*(\\?%|percent\b|pct\b|(?:\^\s*\{?\s*\\circ\s*\}?))/.exec(
		text.slice(last.end, last.end + 20),
	);
	const answer = distinct.length > 1 ? distinct.join(', ') : `${last.content}${behind === null ? '' : ` ${behind[1]}`}`;
	return { answer, others: boxes.slice(0, first).map(({ content }) => content), end: last.end };
}

/** `The answer is …`, `Answer: …`, and `#### …`, following the conventions of Minerva and GSM8K. */
const stated =
	/(?:\banswers?(?:\*\*)?(?:\s+to (?:this|the) (?:question|problem|exercise))?(?:\s+(?:(?:therefore|thus|then)\s+)?(?:is|are|was|would be|will be|must be|should be|equals)(?:\s+(?:therefore|thus|simply|just|still|indeed|then))?\s*[:=]?|\s*[:=]|\s*(?=\$|\\[([b])|(?<=final answers?)\s*(?=\n))|####)(?=[\s$\\*`"'(])|\b(?:respuesta|r[ée]ponse|resposta|risposta|antwort)(?:\s+final[ae]?)?\s+(?:es|est|é|è|ist|lautet)\s*:?(?=[\s$\\*(])|答案(?:是|为|為)?\s*:?(?=[\s$\\*(\d.+-])/gi;
const statement =
	/(?:\b(?:it|that|which)['’]s\s+(?=\S))|\b(?:is|are|was|were|equals|equal to|get|gets|obtain|obtains|have|has|had|gives|yields|makes|made|costs?|takes?|took|needs?|earns?|pays?|spends?|total of|left with|be|(?:increase|decrease|rise|grow|fall|change)[sd]? by)(?:\s+(?:therefore|thus|simply|just|exactly|a total of|equal to|about|approximately))*\s*:?\s+(?=\S)|(?<![<>!=:\\])=(?!=)/gi;
const finalStatement = /\bfinal answer(?: is)?:?\s*(?=[$\d\\(-])/i;
/** Phrases that retract an earlier statement. */
const correction = /\b(?:wait|actually|sorry|correction|mistake|scratch that|oops|no,|not right|rather)\b/i;

/** Phrases that offer more than one answer. */
const hedge = /\b(?:or|either|maybe|perhaps|possibly|could|might|alternatively|unless|otherwise)\b/i;

/** Assumptions and instructions to a grader, which are not answers. */
const supposed = /^(?:so |now |then )?(?:let|suppose|assume|consider)\b|\bgraders?\b/i;

/** Long runs of whitespace, which are equivalent to short ones but make patterns try every way to split them. */
const longBlank = /\s{9,}/g;

/** Shortens long runs of whitespace, which never occur in answers. */
export function withoutLongBlanks(text: string): string {
	return text.replace(longBlank, (blank) => (blank.includes('\n') ? '\n\n' : ' '));
}

/** Removes chat template special tokens and any text after them, and puts display math on one line. */
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

/** Matches "5 is the answer", where the answer comes first. */
const before =
	/(?:^|[.!?,:]\s+)(?:so|thus|hence|therefore|then)?,?\s*([^.!?]{1,300}?)\s+(?:is|are)\s+(?:the|our|my|your)\s+(?:final\s+|correct\s+|required\s+|desired\s+)?(?:answer|solution|result)s?[.!]?\s*$/i;

const connective =
	/^(?:(?:so|thus|hence|therefore|then|and|finally|now|we (?:get|have|find|obtain)|it follows that|this gives|which gives)(?:,\s*|\s+))+(?=\S)/i;

/**
 * Returns the text up to the end of the sentence, which is marked by a period before a space, a line break, or a clause
 * that gives reasons.
 */
function clause(text: string): string {
	const end =
		/\n|[.!?](?=\s+[A-Z"*\\]|\s*$|["*]?\s*$)|[.!?]\s+(?=[a-z]{2,})|,?\s+(?:because|since|as (?:we|it|the)|so that|which|where(?:as)?|when|by|for (?:each|every)|in total|in all(?= *[.!]?$)|altogether|every (?:day|week|month|year)|at the|after|but)\b|,\s+(?:so|and (?:we|so|this)|as)\b/.exec(
			text,
		);
	return (end === null ? text : text.slice(0, end.index)).trim();
}

/** A repeated opening delimiter closes the segment. Otherwise, each unclosed delimiter would be scanned to the end. */
const mathSegment = /\$\$([^$]+)\$\$|\$([^$]+)\$|\\\(((?:(?!\\[()]).)*)\\\)|\\\[((?:(?!\\[[\]]).)*)\\\]/gs;

/** Returns the last segment between math delimiters. */
function lastMath(text: string): string | null {
	let last: string | null = null;
	for (const match of text.matchAll(mathSegment)) last = match[1] ?? match[2] ?? match[3] ?? match[4] ?? null;
	return last;
}

/**
 * Returns the possible readings of the answer stated in a completion, most literal first. Later readings are used if
 * the text cannot be parsed as is. All readings are of the same statement, so a completion cannot offer several
 * answers. In order:
 *
 * 1. the last `\boxed{…}` (combined with boxes separated from it only by "and" or a comma)
 * 2. the text after the last "the answer is", "answer:", or `####`, unless it is retracted
 * 3. the text itself
 * 4. the statement in the last sentence: after "is", "=", "costs", and the like, or the last math in it
 *
 * @param sole whether the text is an answer section. In that case, boxes that do not agree form a list of candidates,
 * and if the text contains "or", "maybe", or the like, only the entire text counts.
 */
export function statedAnswers(whole: string, sole = false): string[] {
	const text = tidied(whole.length > maxTextLength ? whole.slice(-maxTextLength) : whole);
	const boxed = boxedAnswer(text);
	// A final answer stated after the last box replaces the box.
	const final = boxed === null || sole ? -1 : text.slice(boxed.end).search(finalStatement);
	if (boxed !== null && final < 0) {
		if (sole && boxed.others.some((other) => other.trim() !== boxed.answer.trim())) {
			return [[...boxed.others, boxed.answer].join(', ')];
		}
		return [boxed.answer];
	}
	if (boxed === null && /\\{1,2}boxed\s*\{/.test(text)) return []; // A box that is never closed does not state an answer.
	if (sole && hedge.test(text)) return text.length <= maxAnswerLength ? [text.trim()] : [];
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
		return readings.filter((one) => one !== '' && one.length <= maxAnswerLength);
	}
	if (text.length <= maxAnswerLength) readings.push(text.trim().replace(connective, ''));
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
	return readings.filter((one) => one !== '' && one.length <= maxAnswerLength);
}

/** Returns a clause, the text after its verb, and its math if there is only one segment. */
function within(said: string): string[] {
	const readings = [said];
	const segments = said.match(mathSegment) ?? [];
	const verb = lastStatement(said);
	if (verb !== null && verb !== said) readings.push(verb);
	if (segments.length === 1) {
		const math = lastMath(said);
		// Keep a unit after the math, but not words before it.
		const at = said.lastIndexOf(segments[0] as string);
		if (math !== null) readings.push(said.slice(at).trim(), math.trim());
	} else if (segments.length === 0) {
		const amount = onlyNumber(said);
		if (amount !== null) readings.push(amount);
	}
	return readings;
}

/** Returns the only number in a clause, along with the text after it. */
function onlyNumber(said: string): string | null {
	const numbers = [...said.matchAll(/(?<![\w.,/^\\-])-?[$€£]?\d[\d,]*(?:\.\d+)?(?:\s?\/\s?\d+)?/g)];
	const [first] = numbers;
	if (numbers.length !== 1 || first === undefined || /\d/.test(said.slice(0, first.index))) return null;
	return said.slice(first.index);
}

/** Words indicating that the only number in a sentence is not its answer. */
const unstated =
	/\b(?:not|no|never|neither|nor|cannot|than|least|most|more|less|fewer|up to|over|under|between|about|around|roughly|approximately|nearly|almost|if|suppose|assume|let|try|guess|step|problem|question|part|case|example|choice|option|multipl\w*|divid\w*|add\w*|subtract\w*|times|plus|minus|half|should|must|would|may|can|will|shall|scores?|grades?|graders?|rewards?|marks?|returns?|points?|instructions?|half|twice|double|squared?|cubed?|roots?)\b|n['’]t\b|[?^_=<>+*/~≈≤≥≠√%]/i;

/**
 * Returns the only number in the last sentence, along with its unit, regardless of the verb: `It travels 12km/h.`
 * Returns null if the number might not be the answer.
 */
function countedIn(text: string): string | null {
	const sentence = text
		.trim()
		.split(/\n+|(?<=[.!?])\s+(?=[A-Z$\\])/)
		.at(-1)
		?.trim();
	// Require a subject: instructions to a grader are not statements.
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
	// A slash in a unit is not a division.
	return unstated.test(sentence.replace(/(?<=\p{L})\/(?=\p{L})/gu, '')) ? null : amount;
}

/** Returns the text after the last verb or equals sign in the last sentence that has one. */
function lastStatement(text: string): string | null {
	const sentences = text
		.split(/\n+|(?<=[.!?])\s+(?=[A-Z$\\])/)
		.map((one) => one.trim())
		.filter((one) => one !== '')
		.slice(-3);
	const sentence = sentences.at(-1);
	if (sentence === undefined || correction.test(sentence) || sentence.length > maxAnswerLength) return null;
	if (supposed.test(sentence)) return null;
	let found: string | null = null;
	for (const match of sentence.matchAll(statement)) {
		// An equals sign inside math delimiters or braces is part of an equation.
		const after = sentence.slice(match.index + match[0].length);
		if (match[0].trim() === '=') {
			const before = sentence.slice(0, match.index);
			// A chain of numbers is a single answer or none, not a sentence.
			if (!/(?<![\\a-zA-Z])[a-zA-Z]{3,}/.test(before)) continue;
			if ((before.match(/(?<!\\)\$/g)?.length ?? 0) % 2 === 1 || /\\[([](?:(?!\\[()[\]]).)*$/.test(before)) continue;
		}
		found = after;
	}
	if (found === null) return null;
	const said = clause(found.trim());
	return said === '' || /^not\b/i.test(said) ? null : said;
}
