import { formatCounted, formatPercent } from '../../../base/format.ts';
import { type Finding, listed, messageName, quote } from '../finding.ts';
import { type Claim, findReferences } from '../references.ts';
import type { MessagePlace, Transcript } from '../transcript.ts';

/**
 * Finds citations without a reference, references that no tool returned, and claims whose words or numbers do not occur
 * in the cited sources. A claim that is repeated in later revisions is reported once, with all of its positions.
 */
export function findCitationFaults(transcript: Transcript): Finding[] {
	const found = new Map<string, Finding>();
	const add = (key: string, at: MessagePlace, finding: Omit<Finding, 'check' | 'at'>): void => {
		const before = found.get(key);
		// Puts the newest position first, because it is the most relevant one.
		found.set(key, { ...finding, check: 'citation', at: [at, ...(before?.at ?? [])] });
	};
	const searched = transcript.messages.some(({ role }) => role === 'tool');
	for (const { at, references, claims, dangling } of findReferences(transcript)) {
		const where = messageName(at.message);
		for (const n of dangling) {
			add(`dangling ${at.message} ${n}`, at, {
				severity: 'error',
				title: `[${n}] has no reference`,
				text: `The answer in ${where} cites [${n}] but lists only ${formatCounted(references.length, 'reference')}.`,
				quotes: [],
			});
		}
		for (const { number, url, retrieved, claims: uses } of references) {
			if (url === '') continue;
			if (retrieved.length === 0 && searched) {
				add(`invented ${url}`, at, {
					severity: 'error',
					title: `Reference [${number}] was never retrieved`,
					text: `${quote(url, 200)} is listed as a reference in ${where} but does not appear in any earlier tool result.`,
					quotes: [],
				});
			} else if (uses.length === 0 && claims.length > 0) {
				add(`unused ${at.message} ${url}`, at, {
					severity: 'info',
					title: `Reference [${number}] is not cited`,
					text: `${quote(url, 200)} is listed in ${where} but never cited.`,
					quotes: [],
				});
			}
		}
		for (const claim of claims) {
			const fault = faultOf(claim);
			if (fault) add(`claim ${claim.cites.join()} ${claim.text}`, at, fault);
		}
	}
	return [...found.values()];
}

function faultOf(claim: Claim): Omit<Finding, 'check' | 'at'> | null {
	const { verdict, cites, absent, absentNumbers, better, support, source } = claim;
	const marks = cites.map((n) => `[${n}]`).join('');
	const quotes = [{ label: 'Claim', text: quote(claim.text) }];
	const does = cites.length > 1 ? 'do' : 'does';
	if (verdict === 'number') {
		const numbers = listed(absentNumbers);
		return {
			severity: 'error',
			title: `${numbers} ${absentNumbers.length > 1 ? 'appear' : 'appears'} in none of ${marks}`,
			text: `The claim states ${numbers} and cites ${marks}, where ${absentNumbers.length > 1 ? 'they do' : 'it does'} not appear.`,
			quotes,
		};
	}
	if (verdict !== 'unsupported' && verdict !== 'elsewhere') return null;
	const share = formatPercent(support ?? 0, 0);
	const words = absent.slice(0, 8).map((term) => `"${term}…"`);
	const closest =
		source === null
			? ''
			: ` The closest cited source, ${quote(source, 160)}, contains ${share} of the terms by weight.`;
	const lacking =
		words.length === 0
			? ''
			: ` ${cites.length > 1 ? 'None of them contains' : 'It does not contain'} ${listed(words)}.`;
	const elsewhere =
		better === null
			? ''
			: ` ${quote(better.url, 160)} (${listed(better.messages.map(messageName))}), which is not cited, contains ${formatPercent(better.support, 0)}.`;
	return {
		severity: 'warning',
		title: `${marks} ${does} not support the claim`,
		text: `The cited text does not contain the words of the claim.${closest}${lacking}${elsewhere}`,
		quotes,
	};
}
