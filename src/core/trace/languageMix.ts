import { closedClassWords } from '../reward/languageWords.ts';
import type { Span } from './trace.ts';

/** Unicode scripts that reasoning models use. */
const scripts = [
	'Latin',
	'Cyrillic',
	'Greek',
	'Arabic',
	'Hebrew',
	'Devanagari',
	'Bengali',
	'Thai',
	'Hangul',
	'Han',
	'Hiragana',
	'Katakana',
] as const;
type Script = (typeof scripts)[number];

/** Range of text in a different script than the rest, or in a different language in the same script. */
export interface ForeignStretch extends Span {
	/** "Han", or a language code such as "fr". */
	readonly of: string;
	readonly kind: 'script' | 'language';
}

export interface LanguageMix {
	/** Majority script; null if there are no letters. Kana distinguish Japanese from Chinese. */
	readonly script: string | null;
	/** Majority language if function words identify it; otherwise null. */
	readonly language: string | null;
	/** Fraction of letters in another script or language, 0..1. */
	readonly foreign: number;
	/** Ranges in order, in UTF-16 code units; at most 10,000. */
	readonly stretches: readonly ForeignStretch[];
}

/**
 * Matches code, formulas and URLs, which have no language. Every repetition is bounded or ends at its first terminator,
 * so matching takes linear time.
 */
const notProse =
	/```[\s\S]*?```|`[^`\n]{1,500}`|\$\$[\s\S]{1,2000}?\$\$|\$[^$\n]{1,500}\$|\\\((?:(?!\\\()[^\n]){0,500}?\\\)|\\\[(?:(?!\\\[)[\s\S]){0,2000}?\\\]|https?:\/\/\S+|\\[A-Za-z]+|<\/?[a-z_]{1,30}>/g;

/**
 * Matches a word in one script. A single letter is a variable or a unit, except in scripts whose characters are words.
 */
const words = new RegExp(
	scripts.map((script) => `(?<${script}>\\p{Script=${script}}[\\p{Script=${script}}\\p{M}’']*)`).join('|'),
	'gu',
);
const wordCharacters: readonly Script[] = ['Han', 'Hiragana', 'Katakana', 'Thai'];

/** Maximum number of characters to examine. */
const limit = 200_000;
const maxStretches = 10_000;

interface Word extends Span {
	readonly script: string;
	readonly text: string;
}

/** Matches text whose only letters are ASCII. Typographic punctuation and mathematical symbols are allowed. */
const plain = /^[\0-\x7f\xa0-\xa9\xab-\xb9\xbb-\xbf\xd7\xf7\u2010-\u2027\u2190-\u23ff]*$/;
const plainWords = /[A-Za-z][A-Za-z’']+/g;

/** Like {@link findWords}, but several times faster. Only for plain text. */
function findPlainWords(prose: string, from: number): Word[] {
	const found: Word[] = [];
	plainWords.lastIndex = 0;
	for (let match = plainWords.exec(prose); match !== null; match = plainWords.exec(prose)) {
		const [word] = match;
		const start = from + match.index;
		const text = word.toLowerCase();
		found.push({
			script: 'Latin',
			text: text.includes('’') ? text.replaceAll('’', "'") : text,
			start,
			end: start + word.length,
		});
	}
	return found;
}

function findWords(text: string, from: number): Word[] {
	const prose = text.replace(notProse, (part) => ' '.repeat(part.length));
	if (plain.test(prose)) return findPlainWords(prose, from);
	const japanese = /[\p{Script=Hiragana}\p{Script=Katakana}]{2}/u.test(prose);
	const found: Word[] = [];
	for (const match of prose.matchAll(words)) {
		const script = scripts.find((name) => match.groups?.[name] !== undefined) as Script;
		if (match[0].length < 2 && !wordCharacters.includes(script)) continue;
		const kana = script === 'Hiragana' || script === 'Katakana';
		// If kana are present, Han characters also count as Japanese.
		const name = kana || (japanese && script === 'Han') ? 'Japanese' : script;
		const start = from + match.index;
		found.push({
			script: name,
			text: match[0].toLowerCase().replaceAll('’', "'"),
			start,
			end: start + match[0].length,
		});
	}
	return found;
}

function largest(counts: ReadonlyMap<string, number>): string | null {
	let best: string | null = null;
	for (const [name, count] of counts) if (best === null || count > (counts.get(best) as number)) best = name;
	return best;
}

function tally<T>(items: Iterable<T>, name: (item: T) => string | null, weight: (item: T) => number) {
	const counts = new Map<string, number>();
	for (const item of items) {
		const key = name(item);
		if (key !== null) counts.set(key, (counts.get(key) ?? 0) + weight(item));
	}
	return counts;
}

const sentenceEnd = /[.!?;:\n]/;
/** Minimum number of function words by which a sentence must favor another language over the main language. */
const margin = 3;

/** Groups Latin words into sentences, which end at punctuation or line breaks. */
function sentencesOf(latin: readonly Word[], text: string, from: number): Word[][] {
	const sentences: Word[][] = [];
	let last: Word | null = null;
	for (const word of latin) {
		// Most words are one space apart.
		const near = last !== null && word.start - last.end === 1 && text.charCodeAt(last.end - from) === 0x20;
		const ends = last === null || (!near && sentenceEnd.test(text.slice(last.end - from, word.start - from)));
		if (ends) sentences.push([]);
		(sentences.at(-1) as Word[]).push(word);
		last = word;
	}
	return sentences;
}

const languages = Object.keys(closedClassWords);
/** Function word -> positions of its languages in `languages`. */
const languagesOf = new Map<string, number[]>();
for (const [language, list] of Object.entries(closedClassWords)) {
	for (const word of list) languagesOf.set(word, [...(languagesOf.get(word) ?? []), languages.indexOf(language)]);
}

/** Returns the number of function words in each language that has any, in the order of `languages`. */
function hits(sentence: readonly Word[]): Map<string, number> {
	const found = languages.map(() => 0);
	for (const { text } of sentence) for (const at of languagesOf.get(text) ?? []) (found[at] as number)++;
	return new Map(languages.flatMap((language, at) => (found[at] === 0 ? [] : [[language, found[at] as number]])));
}

/**
 * Finds script and language changes in text, like those in the thinking of models trained only with reinforcement
 * learning (DeepSeek-R1, section 2.2.4). Scripts are detected reliably. Languages in Latin script (English, German,
 * French, Spanish, Italian, Portuguese, Dutch) are distinguished by function words: only for whole sentences and only
 * by a clear margin, which may miss short changes but avoids false positives. Code, formulas and single letters are
 * ignored. Only the first 200,000 characters are examined.
 */
export function findLanguageMix(whole: string, span: Span = { start: 0, end: whole.length }): LanguageMix {
	const text = whole.slice(span.start, Math.min(span.end, span.start + limit));
	const found = findWords(text, span.start);
	const letters = ({ start, end }: Span) => end - start;
	const script = largest(tally(found, (word) => word.script, letters));
	const latin = found.filter((word) => word.script === 'Latin');
	const sentences = sentencesOf(latin, text, span.start).map((list) => ({ list, counts: hits(list) }));
	const totals = new Map<string, number>();
	for (const { counts } of sentences) {
		for (const [name, count] of counts) totals.set(name, (totals.get(name) ?? 0) + count);
	}
	const main = script === 'Latin' ? largest(totals) : null;
	const language = main !== null && (totals.get(main) as number) >= margin ? main : null;

	const stretches: { start: number; end: number; of: string; kind: ForeignStretch['kind'] }[] = [];
	let foreign = 0;
	for (const word of found) {
		if (word.script === script) continue;
		foreign += letters(word);
		const last = stretches.at(-1);
		const near = last !== undefined && !/\p{L}/u.test(whole.slice(last.end, word.start)) && word.start - last.end <= 8;
		if (last !== undefined && near && last.of === word.script) last.end = word.end;
		else if (stretches.length < maxStretches)
			stretches.push({ start: word.start, end: word.end, of: word.script, kind: 'script' });
	}
	if (language !== null) {
		for (const { list, counts } of sentences) {
			const other = largest(counts);
			if (other === null || (counts.get(other) as number) - (counts.get(language) ?? 0) < margin) continue;
			foreign += list.reduce((sum, word) => sum + letters(word), 0);
			const [start, end] = [(list[0] as Word).start, (list.at(-1) as Word).end];
			if (stretches.length < maxStretches) stretches.push({ start, end, of: other, kind: 'language' });
		}
	}
	stretches.sort((a, b) => a.start - b.start);
	const all = found.reduce((sum, word) => sum + letters(word), 0);
	return { script, language, foreign: all === 0 ? 0 : foreign / all, stretches };
}
