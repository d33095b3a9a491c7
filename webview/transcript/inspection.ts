import { checkTranscript } from '../../src/core/transcript/checkTranscript.ts';
import type { Finding } from '../../src/core/transcript/finding.ts';
import { type AnswerReferences, findReferences } from '../../src/core/transcript/references.ts';
import {
	type ContextPoint,
	contextPoints,
	type TokenTotals,
	tokenTotals,
} from '../../src/core/transcript/tokenTotals.ts';
import type { Transcript } from '../../src/core/transcript/transcript.ts';
import type { LongInspection } from '../../src/protocol/transcriptMessages.ts';

/** The displayed parts of a finding. */
export type ShownFinding = Pick<Finding, 'severity' | 'title' | 'text' | 'at' | 'quotes'>;

/** Findings, links and tokens of a conversation. */
export interface Inspection {
	/** Whether the messages were checked; very long conversations are not. */
	readonly checked: boolean;
	readonly findings: readonly ShownFinding[];
	/** Number of findings by severity, including those not in the list. */
	readonly counts: { readonly error: number; readonly warning: number; readonly info: number };
	readonly references: readonly AnswerReferences[];
	readonly totals: TokenTotals;
	/** Context sizes at the first model calls, and the number of model calls that report tokens. */
	readonly points: readonly ContextPoint[];
	readonly pointCount: number;
	/** Findings, keyed by the first message that they refer to. */
	readonly findingsAt: ReadonlyMap<number, readonly ShownFinding[]>;
	readonly calls: number;
	/** Returns the messages with a call's results. */
	results(message: number, call: number): readonly number[];
	/** Returns the message with the call that a result belongs to, or null. */
	callOf(result: number): number | null;
}

/** Inspects a fully loaded conversation. */
export function inspectWhole(transcript: Transcript): Inspection {
	const findings = checkTranscript(transcript);
	const points = contextPoints(transcript);
	const severities = (severity: ShownFinding['severity']) => findings.filter((one) => one.severity === severity).length;
	const links = transcript.links.flatMap(({ message, call, results }) =>
		results.flatMap((result) => [message, call, result]),
	);
	return {
		checked: true,
		findings,
		counts: { error: severities('error'), warning: severities('warning'), info: severities('info') },
		references: findReferences(transcript),
		totals: tokenTotals(transcript),
		points,
		pointCount: points.length,
		findingsAt: byMessage(findings),
		calls: transcript.links.length,
		...linksIn(Int32Array.from(links)),
	};
}

/** Returns the panel's findings for a conversation that is loaded line by line. */
export function inspectedLines({ links, ...found }: LongInspection): Inspection {
	return { ...found, findingsAt: byMessage(found.findings), ...linksIn(links) };
}

function byMessage(findings: readonly ShownFinding[]): ReadonlyMap<number, readonly ShownFinding[]> {
	const found = new Map<number, ShownFinding[]>();
	for (const finding of findings) {
		const index = finding.at[0]?.message;
		if (index === undefined) continue;
		const list = found.get(index);
		if (list) list.push(finding);
		else found.set(index, [finding]);
	}
	return found;
}

/**
 * Looks up links in a list of (message, call, result) triples, sorted by message. There can be hundreds of thousands.
 */
function linksIn(links: Int32Array): Pick<Inspection, 'results' | 'callOf'> {
	const count = Math.floor(links.length / 3);
	const field = (link: number, part: 0 | 1 | 2) => links[3 * link + part] as number;
	/** The links sorted by result, computed on first use. */
	let byResult: Int32Array | null = null;
	const firstAt = (atLeast: number, key: (i: number) => number): number => {
		let [low, high] = [0, count];
		while (low < high) {
			const middle = (low + high) >> 1;
			if (key(middle) < atLeast) low = middle + 1;
			else high = middle;
		}
		return low;
	};
	return {
		results(message, call) {
			const found: number[] = [];
			const start = firstAt(message, (i) => field(i, 0));
			for (let i = start; i < count && field(i, 0) === message; i++) {
				if (field(i, 1) === call) found.push(field(i, 2));
			}
			return found;
		},
		callOf(result) {
			byResult ??= Int32Array.from({ length: count }, (_, i) => i).sort((a, b) => field(a, 2) - field(b, 2));
			const order = byResult;
			const at = order[firstAt(result, (i) => field(order[i] as number, 2))];
			return at !== undefined && field(at, 2) === result ? field(at, 0) : null;
		},
	};
}
