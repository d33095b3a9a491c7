import { type Claim, judgeCitations } from '../transcript/references.ts';
import { normalUrl } from '../transcript/sources.ts';
import { asSources, type Evidence } from './evidence.ts';

/** An answer with numeric citations, where `[1]` is its first reference. */
export interface CitedAnswer {
	readonly text: string;
	/** Cited sources, with the same names as in the evidence where possible. */
	readonly references: readonly string[];
}

/**
 * Resolves the references that a model listed (marks such as `S2`, or source names, with or without numbers) to
 * sources, and replaces marks in the text with reference numbers.
 */
export function withNumbers(answer: string, given: readonly string[], evidence: readonly Evidence[]): CitedAnswer {
	const byMark = new Map(evidence.map((one) => [one.mark, one.source]));
	const bySource = new Map(evidence.map((one) => [normalUrl(one.source), one.source]));
	const resolve = (reference: string): string => {
		const mark = /^\W*(?:source\s+)?(S\d{1,4})\b/i.exec(reference)?.[1]?.toUpperCase();
		const bare = reference.replace(/^\s*\[?\d{1,3}\][\s:.]*/, '').trim();
		return (
			byMark.get(mark ?? '') ?? bySource.get(normalUrl(bare)) ?? foundIn(bare, evidence) ?? (bare || reference.trim())
		);
	};
	const references = given.map(resolve);
	const numberOf = (mark: string): number | null => {
		const source = byMark.get(mark.toUpperCase());
		if (source === undefined) return null;
		const at = references.indexOf(source);
		return at === -1 ? references.push(source) : at + 1;
	};
	const text = answer.replace(/\[\s*(S\d{1,4}(?:\s*[,;]\s*S\d{1,4})*)\s*\]/gi, (whole, marks: string) => {
		const numbers = marks.split(/[,;]/).map((mark) => numberOf(mark.trim()));
		return numbers.includes(null) ? whole : `[${numbers.join(', ')}]`;
	});
	return { text, references };
}

/**
 * Resolves a source that was given without its location, if exactly one matches: `docs/a.md` becomes `docs/a.md:12`.
 */
function foundIn(reference: string, evidence: readonly Evidence[]): string | undefined {
	if (reference === '') return undefined;
	const fits = evidence.filter(({ source }) => source.startsWith(`${reference}:`));
	return fits.length === 1 ? fits[0]?.source : undefined;
}

export interface CheckedReference {
	/** 1-based reference number. */
	readonly number: number;
	readonly source: string;
	/** Node of the tool query that first found the source, or null if none did. */
	readonly evidence: number | null;
	/** Whether the cited text supports the claim, or null if unknown. */
	readonly supported: boolean | null;
	readonly note: string;
}

export interface CitationCheck {
	readonly references: readonly CheckedReference[];
	readonly claims: readonly Claim[];
	/** Cited numbers that have no reference. */
	readonly dangling: readonly number[];
}

/** Checks whether each reference in an answer occurs in the evidence and supports the claim. */
export function checkCitations({ text, references }: CitedAnswer, evidence: readonly Evidence[]): CitationCheck {
	const { references: judged, claims, dangling } = judgeCitations(text, references, asSources(evidence));
	return {
		dangling,
		claims,
		references: judged.map(({ number, url, retrieved, claims: uses }) => {
			const node = retrieved[0] ?? null;
			const own = uses.map((i) => claims[i] as Claim);
			const common = { number, source: url, evidence: node };
			if (node === null) return { ...common, supported: false, note: 'no tool returned it' };
			const wrong = own.find(({ verdict }) => ['number', 'unsupported', 'elsewhere'].includes(verdict));
			if (wrong !== undefined) return { ...common, supported: false, note: wordsOf(wrong) };
			if (own.some(({ verdict }) => verdict === 'supported')) return { ...common, supported: true, note: '' };
			const isWeak = own.some(({ verdict }) => verdict === 'weak');
			const note =
				own.length === 0
					? 'never cited'
					: isWeak
						? 'shares only a few words with the text that cites it'
						: 'not enough text to judge';
			return { ...common, supported: null, note };
		}),
	};
}

function wordsOf({ verdict, text, absentNumbers, better }: Claim): string {
	const claim = `"${text.length > 160 ? `${text.slice(0, 159)}…` : text}"`;
	if (verdict === 'number') return `does not contain ${absentNumbers.slice(0, 5).join(', ')}: ${claim}`;
	if (verdict === 'elsewhere' && better !== null) return `supported by ${better.url} instead: ${claim}`;
	return `does not support this claim: ${claim}`;
}
