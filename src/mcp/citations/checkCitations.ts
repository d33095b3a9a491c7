import { Failure } from '../../base/failure.ts';
import { findCitations, maxCitations } from '../../core/address/citations.ts';
import { parseAddress } from '../../core/address/dataAddress.ts';
import { supports } from '../../core/address/quotedNumber.ts';
import { addressFacts } from './addressFacts.ts';
import type { Fact, FactContext } from './fact.ts';

/**
 * - `ok`: the address resolves, and the data contains every quoted number
 * - `no-number`: the address resolves, but the text does not quote a number from it
 * - `different`: the data does not contain a quoted number
 * - `no-data`: the data has no numbers, or does not record them, so a quoted number cannot be checked
 * - `unresolved`: the address does not exist or cannot be read
 * - `malformed`: not an address
 */
export type CitationStatus = 'ok' | 'no-number' | 'different' | 'no-data' | 'unresolved' | 'malformed';

export interface CheckedCitation {
	readonly address: string;
	readonly line: number;
	readonly column: number;
	readonly status: CitationStatus;
	/** Numbers as quoted in the text. */
	readonly quoted: readonly string[];
	/** Quoted numbers that the data does not contain. */
	readonly wrong: readonly string[];
	/** Values in the data: the matching ones for `ok`, otherwise the first few. */
	readonly data: readonly Fact[];
	/** Why the address is unresolved or malformed. */
	readonly problem: string | null;
}

export interface CheckedText {
	readonly citations: readonly CheckedCitation[];
	/** Whether every citation resolves and every number that can be checked is correct. */
	readonly sound: boolean;
	/** Whether the text has more citations than were checked. */
	readonly truncated: boolean;
}

/** Returns what is wrong with a citation, or null if it is sound. */
export function citationProblem({ status, wrong, data, problem }: CheckedCitation): string | null {
	switch (status) {
		case 'different': {
			const states = data.map(({ name, value }) => `${name} ${value}`).join(', ');
			return `${wrong.join(', ')} ${wrong.length === 1 ? 'does' : 'do'} not match the data: ${states}`;
		}
		case 'unresolved':
		case 'malformed':
			return problem ?? status;
		default:
			return null;
	}
}

const maxFacts = 12;
/** Maximum number of addresses to cache facts for, because a report cites the same data repeatedly. */
const maxKept = 256;

/** Checks the `rl://` citations in Markdown text. Fails only with `cancelled`. */
export async function checkCitations(text: string, context: FactContext): Promise<CheckedText> {
	const kept = new Map<string, Promise<readonly Fact[]>>();
	const factsAt = (address: string) => {
		let facts = kept.get(address);
		if (facts === undefined) {
			if (kept.size >= maxKept) kept.clear();
			facts = Promise.resolve().then(() => addressFacts(parseAddress(address), context));
			kept.set(address, facts);
		}
		return facts;
	};
	const citations: CheckedCitation[] = [];
	for (const { address, line, column, numbers } of findCitations(text)) {
		if (context.signal.aborted) throw new Failure('cancelled', 'The check was canceled.');
		const where = { address, line, column, quoted: numbers.map((number) => number.text.trim()) };
		try {
			const facts = await factsAt(address);
			const wrong = numbers.filter((number) => !facts.some(({ name, value }) => supports(number, name, value)));
			const matching = facts.filter(({ name, value }) => numbers.some((number) => supports(number, name, value)));
			const status = statusOf(numbers.length, wrong.length, facts.length);
			const shown = status === 'ok' ? matching : facts;
			const data = shown.slice(0, maxFacts);
			citations.push({ ...where, status, wrong: wrong.map((number) => number.text.trim()), data, problem: null });
		} catch (error) {
			const { reason, message } = Failure.from(error);
			if (reason === 'cancelled') throw error;
			const status = isAddress(address) ? 'unresolved' : 'malformed';
			citations.push({ ...where, status, wrong: [], data: [], problem: message });
		}
	}
	const sound = citations.every((citation) => citationProblem(citation) === null);
	return { citations, sound, truncated: citations.length >= maxCitations };
}

function statusOf(numbers: number, wrong: number, facts: number): CitationStatus {
	if (numbers === 0) return 'no-number';
	if (facts === 0) return 'no-data';
	return wrong === 0 ? 'ok' : 'different';
}

function isAddress(text: string): boolean {
	try {
		parseAddress(text);
		return true;
	} catch {
		return false;
	}
}
