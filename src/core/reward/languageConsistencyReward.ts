import type { LanguageName, RewardEntry } from '../../protocol/recipeKeys/builtInRewards.ts';
import type { TraceTags } from '../trace/trace.ts';
import { closedClassWords } from './languageWords.ts';
import { type RewardSample, thinkingOf } from './rewardSample.ts';

type Options = Pick<RewardEntry<'language-consistency'>, 'language'>;

/**
 * Matches code, formulas and URLs, which have no language. Every repetition is bounded or unambiguous, so matching is
 * linear.
 */
const notProse =
	/```[\s\S]*?```|`[^`\n]{1,500}`|\$\$[\s\S]{1,2000}?\$\$|\$[^$\n]{1,500}\$|\\\([^\n]{0,500}?\\\)|\\\[[\s\S]{0,2000}?\\\]|https?:\/\/\S+|\\[A-Za-z]+/g;

const unspaced = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}ー';
/**
 * Matches a word in a script that uses spaces, or one character in a script that does not. Single letters are treated
 * as variables, except accented and Cyrillic ones.
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

/** Maximum length of a sentence without kana that can still count as Japanese, such as a heading or a term. */
const shortHeading = 6;

/**
 * Returns whether a sentence is in another language with the same script, that is, whether words found only in that
 * language outnumber those found only in the target language. null if no word distinguishes the two languages.
 */
function isOther(sentence: readonly string[], target: LanguageName): boolean | null {
	const own = closedClassWords[target];
	if (own === undefined) return null;
	const lower = sentence.map((one) => one.toLowerCase().replaceAll('’', "'"));
	let recognized = false;
	for (const [language, list] of Object.entries(closedClassWords)) {
		if (language === target) continue;
		let balance = 0;
		for (const one of lower) {
			if (list.has(one) === own.has(one)) continue;
			balance += list.has(one) ? 1 : -1;
			recognized = true;
		}
		if (balance > 0) return true;
	}
	return recognized ? false : null;
}

/**
 * Flags sentences in another language; an undecided sentence takes the result of the previous decided sentence, or of
 * the next one if there is none.
 */
function othersOf(sentences: readonly (readonly string[])[], target: LanguageName): boolean[] {
	const recognized = sentences.map((sentence) => isOther(sentence, target));
	let last = recognized.find((other) => other !== null) ?? false;
	return recognized.map((other) => {
		last = other ?? last;
		return last;
	});
}

/** Number of words in the target's script that also belong to the target language. */
function ownWords(written: number, sentence: readonly string[], target: LanguageName): number {
	const japanese = sentence.some((one) => kana.test(one));
	if (target === 'zh' && japanese) return 0;
	if (target === 'ja' && !japanese && written > shortHeading) return 0;
	return written;
}

/**
 * Returns the fraction of words in the thinking section that are in the target language (DeepSeek-R1, section 2.3.2).
 * Words are identified by their script. If languages share a script, a sentence is attributed to another language when
 * that language's closed-class words outnumber the target's. Code, formulas and single letters are excluded. Returns 0
 * without a thinking section, and null if the section has no words.
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
