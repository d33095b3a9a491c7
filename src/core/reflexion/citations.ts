import { type Claim, judgeCitations } from '../transcript/references.ts';
import { normalUrl } from '../transcript/sources.ts';
import { asSources, type Evidence } from './evidence.ts';

/** An answer whose citations are numbers: `[1]` is the first of its references. */
export interface CitedAnswer {
	readonly text: string;
	/** Sources, as evidence names them where it has them. */
	readonly references: readonly string[];
}

/**
 * References as models give them (a mark such as `S2`, a source, a number) as sources, and marks that stand in the text as
 * numbers of references.
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

/** A source whose place is left away: `docs/a.md` of `docs/a.md:12`, when there is one alone. */
function foundIn(reference: string, evidence: readonly Evidence[]): string | undefined {
	if (reference === '') return undefined;
	const fits = evidence.filter(({ source }) => source.startsWith(`${reference}:`));
	return fits.length === 1 ? fits[0]?.source : undefined;
}

export interface CheckedReference {
	/** From 1. */
	readonly number: number;
	readonly source: string;
	/** Node of the tool that found it first; null: none did. */
	readonly evidence: number | null;
	/** Whether what is cited says what it is cited for; null: that cannot be told. */
	readonly supported: boolean | null;
	readonly note: string;
}

export interface CitationCheck {
	readonly references: readonly CheckedReference[];
	readonly claims: readonly Claim[];
	/** Numbers that are cited and stand for nothing. */
	readonly dangling: readonly number[];
}

/** Each reference of an answer against the evidence that it cites: was it found, and does it say that? */
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
						? 'it shares only some words with the text that cites it'
						: 'too little text to judge';
			return { ...common, supported: null, note };
		}),
	};
}

function wordsOf({ verdict, text, absentNumbers, better }: Claim): string {
	const claim = `"${text.length > 160 ? `${text.slice(0, 159)}…` : text}"`;
	if (verdict === 'number') return `${absentNumbers.slice(0, 5).join(', ')} does not appear in it: ${claim}`;
	if (verdict === 'elsewhere' && better !== null) return `${better.url} supports this instead: ${claim}`;
	return `it does not support this: ${claim}`;
}
