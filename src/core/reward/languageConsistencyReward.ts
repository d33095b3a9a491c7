import type { LanguageName, RewardEntry } from '../../protocol/builtInRewards.ts';
import type { TraceTags } from '../trace/trace.ts';
import { closedClassWords } from './languageWords.ts';
import { type RewardSample, thinkingOf } from './rewardSample.ts';

type Options = Pick<RewardEntry<'language-consistency'>, 'language'>;

/** Code, formulas and addresses have no language. Every repetition is bounded or ends at its first end: linear. */
const notProse =
	/```[\s\S]*?```|`[^`\n]{1,500}`|\$\$[\s\S]{1,2000}?\$\$|\$[^$\n]{1,500}\$|\\\([^\n]{0,500}?\\\)|\\\[[\s\S]{0,2000}?\\\]|https?:\/\/\S+|\\[A-Za-z]+/g;

/** A word of a script with blanks, or one character of a script without. Single Latin letters are variables. */
const word =
	/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}ー]|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}ー])\p{L})(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}ー])[\p{L}\p{M}'’])+/gu;

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

/** Whether the words that only another language of the script has outnumber those that only the target has. */
function isOtherLatin(sentence: readonly string[], target: LanguageName): boolean {
	const own = closedClassWords[target];
	if (own === undefined) return false;
	const lower = sentence.map((one) => one.toLowerCase().replaceAll('’', "'"));
	for (const [language, list] of Object.entries(closedClassWords)) {
		if (language === target) continue;
		let balance = 0;
		for (const one of lower) balance += Number(list.has(one) && !own.has(one)) - Number(own.has(one) && !list.has(one));
		if (balance > 0) return true;
	}
	return false;
}

/** How many words of a sentence are in the target language. */
function inTarget(sentence: readonly string[], target: LanguageName): number {
	const written = sentence.filter((one) => scripts[target].test(one));
	if (isOtherLatin(written, target)) return 0;
	const japanese = sentence.some((one) => kana.test(one));
	if (target === 'zh' && japanese) return 0;
	if (target === 'ja' && !japanese && written.length > shortHeading) return 0;
	return written.length;
}

/**
 * The share of the thinking's words that are in the target language (DeepSeek-R1, section 2.3.2). Words are told by their
 * script; where languages share one, a sentence is another language's when that one's closed-class words outnumber the
 * target's. Code, formulas and single letters are left out. 0 without thinking, null when it has no words.
 */
export function languageConsistencyReward(sample: RewardSample, options: Options, tags: TraceTags): number | null {
	const thinking = thinkingOf(sample, tags);
	if (thinking === null) return 0;
	let all = 0;
	let target = 0;
	for (const sentence of thinking
		.normalize('NFC')
		.replace(notProse, ' ')
		.split(/[.!?;:\n。！？；：]+/)) {
		const words = sentence.match(word) ?? [];
		all += words.length;
		target += inTarget(words, options.language);
	}
	return all === 0 ? null : target / all;
}
