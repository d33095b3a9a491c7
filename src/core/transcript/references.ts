import { madeCalls } from './calls.ts';
import { claimNumbers, claimTerms } from './claimTerms.ts';
import { field, isTable, textField } from './pythonValue.ts';
import { normalUrl, type Source, sourcesOf } from './sources.ts';
import type { MessagePlace, Transcript } from './transcript.ts';

/**
 * Verdict on a claim.
 * - `supported`: a cited source contains the claim's words; `weak`: a cited source contains some of the words
 * - `unsupported`: the cited sources contain few of the words; `elsewhere`: the cited sources contain few of the
 *   words, but a different retrieved source contains them
 * - `number`: at least one number in the claim does not occur in any source
 * - `unknown`: no cited source was retrieved with its text, or the claim has too few words to check
 */
export type Verdict = 'supported' | 'weak' | 'unsupported' | 'elsewhere' | 'number' | 'unknown';

/** Sentence with its references. */
export interface Claim {
	readonly text: string;
	/** Reference numbers, as cited. */
	readonly cites: readonly number[];
	readonly verdict: Verdict;
	/** Highest weighted fraction of the claim's terms in a cited source, 0 to 1; null if not checked. */
	readonly support: number | null;
	/** URL of the source with the highest support. */
	readonly source: string | null;
	/** Stems of terms that no cited source contains. */
	readonly absent: readonly string[];
	readonly absentNumbers: readonly string[];
	/** Retrieved source that is not cited but contains clearly more of the claim's terms than the cited sources. */
	readonly better: { readonly url: string; readonly support: number; readonly messages: readonly number[] } | null;
}

export interface Reference {
	/** 1-based reference number. */
	readonly number: number;
	readonly url: string;
	/** Messages whose results contain the source before it is cited; empty if it was never retrieved. */
	readonly retrieved: readonly number[];
	readonly title: string | null;
	/** Text of the source in the results. */
	readonly evidence: string;
	/** Indices of the claims that cite the source. */
	readonly claims: readonly number[];
}

/** References in one answer. */
export interface AnswerReferences {
	readonly at: MessagePlace;
	readonly references: readonly Reference[];
	readonly claims: readonly Claim[];
	/** Cited numbers that have no reference. */
	readonly dangling: readonly number[];
}

/** Thresholds for {@link Claim.support}, calibrated on transcripts of research agents. */
export const supportLimits = { supported: 0.5, unsupported: 0.35, better: 0.2 } as const;
const fewestTerms = 3;

/** Returns all answers with citations, in order. */
export function findReferences(transcript: Transcript): AnswerReferences[] {
	const answers: { at: MessagePlace; text: string; list: string[] }[] = [];
	for (const { call, place } of madeCalls(transcript)) {
		const text = textField(call.arguments, 'answer');
		if (text !== null) answers.push({ at: place, text, list: listOf(call.arguments, 0) ?? [] });
	}
	for (const { index, role, text } of transcript.messages) {
		if (role === 'assistant' && text !== '') answers.push({ at: { message: index, call: null }, ...inText(text) });
	}
	return answers
		.sort((a, b) => a.at.message - b.at.message)
		.filter(({ text, list }) => list.length > 0 || /\[\d{1,3}\]/.test(text))
		.map((answer) => judge(transcript, answer))
		.filter(({ references, claims }) => references.length > 0 && (claims.length > 0 || references.length > 0));
}

/** Finds a list of URLs under one of the usual names, anywhere in the arguments. */
function listOf(value: unknown, depth: number): string[] | null {
	if (!isTable(value) || depth > 3) return null;
	for (const name of ['references', 'citations', 'sources']) {
		const list = field(value, name);
		if (!Array.isArray(list)) continue;
		const urls = list
			.map((item) => (typeof item === 'string' ? item : (textField(item, 'url') ?? textField(item, 'link'))))
			.filter((url) => url !== null);
		if (urls.length > 0) return urls;
	}
	for (const inner of Object.values(value)) {
		const found = listOf(inner, depth + 1);
		if (found) return found;
	}
	return null;
}

/** Splits a text answer into its body and the numbered list of sources at the end. */
function inText(text: string): { text: string; list: string[] } {
	const list: string[] = [];
	const said: string[] = [];
	for (const line of text.slice(0, 200_000).split('\n')) {
		const match = /^\s*(?:[-*]\s*)?\[?(\d{1,3})[\].:)]+\s*.{0,300}?(https?:\/\/[^\s<>"')\]]+)/.exec(line);
		if (match?.[1] !== undefined && match[2] !== undefined && Number(match[1]) > 0)
			list[Number(match[1]) - 1] = match[2];
		else said.push(line);
	}
	return { text: said.join('\n'), list: Array.from(list, (url) => url ?? '') };
}

const citation = /(?:\[\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\][\s,;]*)+/g;

export interface CitedSentence {
	readonly text: string;
	readonly cites: readonly number[];
	/**
	 * Whether the citation is in the sentence itself. If not, it follows a later sentence and might not apply to this
	 * one.
	 */
	readonly direct: boolean;
}

/** Finds sentences with references: the text between two runs of citations within a paragraph. */
export function citedSentences(text: string): CitedSentence[] {
	const found: CitedSentence[] = [];
	for (const paragraph of text.split(/\n+/)) {
		let from = 0;
		for (const match of paragraph.matchAll(citation)) {
			const cites = numbersOf(match[0]);
			const sentences = paragraph
				.slice(from, match.index)
				.split(/(?<=[.!?])\s+(?=[\p{Lu}"'*(])/u)
				.map((sentence) => sentence.replace(/^[\s.,;:!?)]+/, '').trim())
				.filter((sentence) => sentence !== '');
			sentences.forEach((words, i) => {
				found.push({ text: words, cites, direct: i === sentences.length - 1 });
			});
			from = match.index + match[0].length;
		}
	}
	return found;
}

function numbersOf(run: string): number[] {
	const numbers = new Set<number>();
	for (const [, first = '', , last] of run.matchAll(/(\d{1,3})(\s*[–-]\s*(\d{1,3}))?/g)) {
		const [low, high] = [Number(first), last === undefined ? Number(first) : Number(last)];
		for (let n = low; n <= Math.min(high, low + 50); n++) numbers.add(n);
	}
	return [...numbers];
}

function judge(
	transcript: Transcript,
	{ at, text, list }: { at: MessagePlace; text: string; list: readonly string[] },
): AnswerReferences {
	return { at, ...judgeCitations(text, list, sourcesOf(transcript, at.message)) };
}

/**
 * Checks the claims in the text against the cited sources.
 * @param list sources of `[1]`, `[2]`, ...
 * @param sources retrieved sources by normalized URL
 */
export function judgeCitations(
	text: string,
	list: readonly string[],
	sources: ReadonlyMap<string, Source>,
): Omit<AnswerReferences, 'at'> {
	const all = [...sources.values()];
	const weights = new TermWeights(all);
	const cited = list.map((url) => sources.get(normalUrl(url)) ?? null);
	const claims = citedSentences(text).map((sentence) => judgeClaim(sentence, cited, all, weights));
	const references = list.map((url, i): Reference => {
		const source = cited[i] ?? null;
		return {
			number: i + 1,
			url,
			retrieved: source?.messages ?? [],
			title: source?.title ?? null,
			evidence: source?.text ?? '',
			claims: claims.flatMap(({ cites }, claim) => (cites.includes(i + 1) ? [claim] : [])),
		};
	});
	const dangling = [...new Set(claims.flatMap(({ cites }) => cites))].filter(
		(n) => n < 1 || n > list.length || list[n - 1] === '',
	);
	return { references, claims, dangling };
}

function judgeClaim(
	{ text, cites, direct }: CitedSentence,
	cited: readonly (Source | null)[],
	all: readonly Source[],
	weights: TermWeights,
): Claim {
	const terms = claimTerms(text);
	const given = cites.map((n) => cited[n - 1] ?? null).filter((source) => source !== null && source.text !== '');
	const numbers = claimNumbers(text);
	const none = { text, cites, source: null, support: null, absent: [], absentNumbers: [], better: null } as const;
	if (given.length === 0 || terms.size < fewestTerms) return { ...none, verdict: 'unknown' };
	const best = weights.best(terms, given as Source[]);
	const others = all.filter((source) => source.text !== '' && !given.includes(source));
	const other = weights.best(terms, others);
	const absent = [...terms].filter((term) => !given.some((source) => weights.has(source as Source, term)));
	const absentNumbers = [...numbers].filter((n) => !given.some((source) => weights.numbers(source as Source).has(n)));
	const better =
		other !== null &&
		best !== null &&
		other.support >= Math.max(supportLimits.supported, best.support + supportLimits.better)
			? { url: other.source.url, support: other.support, messages: other.source.messages }
			: null;
	const support = best?.support ?? 0;
	const verdict: Verdict =
		absentNumbers.length > 0
			? 'number'
			: support >= supportLimits.supported
				? 'supported'
				: better !== null
					? 'elsewhere'
					: direct && support < supportLimits.unsupported
						? 'unsupported'
						: 'weak';
	return {
		text,
		cites,
		verdict,
		support,
		source: best?.source.url ?? null,
		absent,
		absentNumbers,
		better: verdict === 'supported' ? null : better,
	};
}

/**
 * Weights for source terms based on rarity: ln(1 + N / n) (Spärck Jones 1972), so that terms that occur in every source
 * do not support a claim.
 */
class TermWeights {
	readonly #terms = new Map<Source, ReadonlySet<string>>();
	readonly #numbers = new Map<Source, ReadonlySet<string>>();
	readonly #counts = new Map<string, number>();
	readonly #total: number;

	constructor(sources: readonly Source[]) {
		this.#total = sources.length;
		for (const source of sources) {
			const terms = claimTerms(source.text);
			this.#terms.set(source, terms);
			for (const term of terms) this.#counts.set(term, (this.#counts.get(term) ?? 0) + 1);
		}
	}

	has(source: Source, term: string): boolean {
		return this.#terms.get(source)?.has(term) ?? false;
	}

	numbers(source: Source): ReadonlySet<string> {
		let numbers = this.#numbers.get(source);
		if (numbers === undefined) {
			numbers = claimNumbers(source.text);
			this.#numbers.set(source, numbers);
		}
		return numbers;
	}

	best(terms: ReadonlySet<string>, sources: readonly Source[]): { source: Source; support: number } | null {
		let found: { source: Source; support: number } | null = null;
		let all = 0;
		for (const term of terms) all += this.#weight(term);
		for (const source of sources) {
			let has = 0;
			for (const term of terms) if (this.has(source, term)) has += this.#weight(term);
			const support = all === 0 ? 0 : has / all;
			if (found === null || support > found.support) found = { source, support };
		}
		return found;
	}

	#weight(term: string): number {
		return Math.log(1 + this.#total / Math.max(1, this.#counts.get(term) ?? 1));
	}
}
