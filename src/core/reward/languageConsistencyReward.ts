import type { LanguageName, RewardEntry } from '../../protocol/builtInRewards.ts';
import type { TraceTags } from '../trace/trace.ts';
import { closedClassWords } from './languageWords.ts';
import { type RewardSample, thinkingOf } from './rewardSample.ts';

type Options = Pick<RewardEntry<'language-consistency'>, 'language'>;

/** Code, formulas and addresses have no language. Every repetition is bounded or ends at its first end: linear. */
const notProse =
	/```[\s\S]*?```|`[^`\n]{1,500}`|\$\$[\s\S]{1,2000}?\$\$|\$[^$\n]{1,500}\$|\\\([^\n]{0,500}?\\\)|\\\[[\s\S]{0,2000}?\\\]|https?:\/\/\S+|\\[A-Za-z]+/g;

const unspaced = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}ー';
/**
 * A word of a script with blanks, or one character of a script without. Single letters are variables, but for those with
 * an accent and the Cyrillic ones.
 */
const word = new RegExp(
	`[${unspaced}]|(?![${unspaced}])\\p{L}(?:(?![${unspaced}])[\\p{L}\\p{M}'’])+|[àèéìòóÀÈÉÌÒÓ]|\\p{Script=Cyrillic}`,
	'gu',
);

const han = /^\p{Script=Han}/u;
const kana = /[\p{Script=Hiragana}\p{Script=Katakana}]/u;
const scripts: Readonly<Record<LanguageName, RegExp>> = {
	en: /^\p{Script=Latin}/u,
	de: /^\p{Script=Latin}/u,
	fr: /^\p{Script=Latin}/u,
	es: /^\p{Script=Latin}/u,
	it: /^\p{Script=Latin}/u,
	pt: /^\p{Script=Latin}/u,
	nl: /^\p{Script=Latin}/u,
	ru: /^\p{Script=Cyrillic}/u,
	el: /^\p{Script=Greek}/u,
	ar: /^\p{Script=Arabic}/u,
	he: /^\p{Script=Hebrew}/u,
	hi: /^\p{Script=Devanagari}/u,
	th: /^\p{Script=Thai}/u,
	ko: /^\p{Script=Hangul}/u,
	ja: /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]/u,
	zh: han,
};

/** Kana-less sentences of this many characters at most may be Japanese: headings and terms. */
const shortHeading = 6;

/**
 * Whether a sentence is another language's of the same script: the words that only that one has outnumber the words that
 * only the target has. null: no word tells.
 */
function isOther(sentence: readonly string[], target: LanguageName): boolean | null {
	const own = closedClassWords[target];
	if (own === undefined) return null;
	const lower = sentence.map((one) => one.toLowerCase().replaceAll('’', "'"));
	let told = false;
	for (const [language, list] of Object.entries(closedClassWords)) {
		if (language === target) continue;
		let balance = 0;
		for (const one of lower) {
			if (list.has(one) === own.has(one)) continue;
			balance += list.has(one) ? 1 : -1;
			told = true;
		}
		if (balance > 0) return true;
	}
	return told ? false : null;
}

/** For each sentence whether it is another language's; one that does not tell is like the one before it, else after it. */
function othersOf(sentences: readonly (readonly string[])[], target: LanguageName): boolean[] {
	const told = sentences.map((sentence) => isOther(sentence, target));
	let last = told.find((other) => other !== null) ?? false;
	return told.map((other) => {
		last = other ?? last;
		return last;
	});
}

/** Of the words that are written in the target's script, those that are its own. */
function ownWords(written: number, sentence: readonly string[], target: LanguageName): number {
	const japanese = sentence.some((one) => kana.test(one));
	if (target === 'zh' && japanese) return 0;
	if (target === 'ja' && !japanese && written > shortHeading) return 0;
	return written;
}

/**
 * The share of the thinking's words that are in the target language (DeepSeek-R1, section 2.3.2). Words are told by their
 * script; where languages share one, a sentence is another language's when that one's closed-class words outnumber the
 * target's. Code, formulas and single letters are left out. 0 without thinking, null when it has no words.
 */
export function languageConsistencyReward(sample: RewardSample, { language }: Options, tags: TraceTags): number | null {
	const thinking = thinkingOf(sample, tags);
	if (thinking === null) return 0;
	const prose = thinking.normalize('NFC').replace(notProse, ' ');
	const sentences = prose.split(/[.!?;:\n。！？；：]+/).map((sentence) => sentence.match(word) ?? []);
	const written = sentences.map((sentence) => sentence.filter((one) => scripts[language].test(one)));
	const others = othersOf(written, language);
	let all = 0;
	let target = 0;
	for (const [i, sentence] of sentences.entries()) {
		all += sentence.length;
		if (!others[i]) target += ownWords((written[i] as string[]).length, sentence, language);
	}
	return all === 0 ? null : target / all;
}
