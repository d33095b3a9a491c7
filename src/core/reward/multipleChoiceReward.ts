import type { RewardEntry } from '../../protocol/recipeKeys/builtInRewards.ts';
import { normalizeAnswer } from '../dataset/answer.ts';
import type { TraceTags } from '../trace/trace.ts';
import { answerOf, type RewardSample } from './rewardSample.ts';

type Options = Pick<RewardEntry<'multiple-choice'>, 'column' | 'options' | 'indexFrom'>;

/** Options listed in a row, by uppercase letter; empty if there are none. */
type Choices = ReadonlyMap<string, string>;

const plain = (text: string) =>
	normalizeAnswer(text.replace(/[*_`]+/g, ''))
		.toLowerCase()
		.replace(/\.$/, '');

function choicesOf({ row }: RewardSample, column: string): Choices {
	const given = Object.hasOwn(row, column) ? row[column] : null;
	if (typeof given !== 'object' || given === null) return new Map();
	const pairs: [string, unknown][] = Array.isArray(given)
		? given.slice(0, 26).map((text, i) => [String.fromCharCode(65 + i), text])
		: Object.entries(given).map(([letter, text]) => [letter.trim().toUpperCase(), text]);
	return new Map(pairs.map(([letter, text]) => [letter, plain(String(text))]));
}

/** Matches text allowed around a letter: "The correct answer is option (B)." */
const lead =
	/^(?:so|thus|therefore|hence)?[,\s]*(?:(?:the|my)\s+)?(?:(?:correct|right|final|best)\s+)?(?:(?:answer|option|choice|letter)\s*)?(?:is|:|=)?\s*(?:(?:option|choice|letter)\s*)?/i;
const letterAlone = /^[([{<]?\s*([A-Z])\s*[)\]}>]?\s*[.:]?$/i;
const letterAndText = /^[([{<]?\s*([A-Z])\s*(?:[)\]}>]\s*[.:]?|[.:])\s+(\S.*)$/is;

/** Strips LaTeX and Markdown markup around text: "\boxed{\text{B}}", "$B$", "**(B)**". */
function bare(text: string): string {
	let inner = text
		.trim()
		.replace(/[*_`$]+/g, '')
		.trim();
	for (let depth = 0; depth < 4; depth++) {
		const wrapped = /^\\(?:boxed|fbox|text|textbf|mathrm|mathbf|mathsf)\s*\{(.*)\}[.\s]*$/s.exec(inner);
		if (wrapped === null) break;
		inner = (wrapped[1] as string).trim();
	}
	return inner;
}

/**
 * Returns the option letter named by the text, in any common format or by option text; null unless it names exactly
 * one.
 */
function letterIn(text: string, choices: Choices): string | null {
	const known = (letter: string) => (choices.size === 0 || choices.has(letter) ? letter : null);
	const whole = bare(text);
	const named = [...choices].filter(([, option]) => option === plain(whole));
	const [only] = named;
	if (only !== undefined && named.length === 1) return only[0];
	for (const candidate of [whole, bare(whole.replace(lead, ''))]) {
		const alone = letterAlone.exec(candidate)?.[1];
		if (alone !== undefined) return known(alone.toUpperCase());
		const [, letter, rest] = letterAndText.exec(candidate) ?? [];
		if (letter === undefined || rest === undefined) continue;
		const upper = letter.toUpperCase();
		// "B. Paris" names B only if option B is Paris. Without option text, no second letter can follow.
		if (choices.size > 0) return choices.get(upper) === plain(rest) ? upper : null;
		return /[([][A-Z][)\]]|\b(?:or|and)\s+[A-Z]\b|\b(?:option|choice)\s+[A-Z]\b|(?:^|[\s,;])[B-HJ-Z](?=$|[\s,;.)])/.test(
			rest,
		)
			? null
			: upper;
	}
	return null;
}

/** Returns the correct letter, from a letter, option text or an index; null if the gold value is none of these. */
function goldLetter(sample: RewardSample, { column, indexFrom }: Options, choices: Choices): string | null {
	const { answer, row } = sample;
	const gold = column === undefined ? answer : Object.hasOwn(row, column) ? row[column] : null;
	if (typeof gold !== 'string' && typeof gold !== 'number') return null;
	const letter = letterIn(String(gold), choices);
	if (letter !== null) return letter;
	const place = Number(gold) - (indexFrom ?? Number.NaN);
	if (!Number.isInteger(place) || place < 0 || place >= Math.max(choices.size, choices.size === 0 ? 26 : 0))
		return null;
	return [...choices.keys()][place] ?? String.fromCharCode(65 + place);
}

/**
 * Returns 1 if the answer names the correct option and no other, by letter ("B", "(b)", "B.", "\boxed{B}", "option B",
 * "The answer is B", "B. Paris") or by option text; otherwise 0. Returns null if the gold value does not name an
 * option.
 */
export function multipleChoiceReward(sample: RewardSample, options: Options, tags: TraceTags): number | null {
	const choices = choicesOf(sample, options.options);
	const gold = goldLetter(sample, options, choices);
	if (gold === null) return null;
	const answer = answerOf(sample, tags);
	// Longer answers are discussions rather than choices. The limit also bounds regex cost.
	if (answer === null || answer.length > 2000) return 0;
	return letterIn(answer, choices) === gold ? 1 : 0;
}
