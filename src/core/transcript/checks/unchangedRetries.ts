import { didFail, type MadeCall, madeCalls } from '../calls.ts';
import { type Finding, listed, messageName, quote } from '../finding.ts';
import { isTable } from '../pythonValue.ts';
import { canonicalText } from '../toolCalls.ts';
import type { Transcript } from '../transcript.ts';

/**
 * Finds failed calls that are retried without new information: with the same arguments, or with arguments that only
 * moved between fields. Also finds calls that repeat an earlier successful call.
 */
export function findUnchangedRetries(transcript: Transcript): Finding[] {
	const calls = madeCalls(transcript);
	const findings: Finding[] = [];
	const seen = new Map<string, MadeCall>();
	const last = new Map<string, MadeCall>();
	for (const made of calls) {
		const { call } = made;
		const before = last.get(call.name);
		last.set(call.name, made);
		const key = `${call.name} ${call.fault === null ? canonicalText(call.arguments) : call.text}`;
		const same = seen.get(key);
		seen.set(key, made);
		if (before !== undefined && before.message.index !== made.message.index && didFail(before)) {
			const finding = retry(before, made);
			if (finding) findings.push(finding);
		} else if (same !== undefined) {
			findings.push({
				check: 'retry',
				severity: 'warning',
				title: `Repeated call to ${call.name} with the same arguments`,
				text: `The call in ${messageName(made.message.index)} repeats the one in ${messageName(same.message.index)}, which did not fail.`,
				at: [made.place, same.place],
				quotes: [],
			});
		}
	}
	return findings;
}

function retry(before: MadeCall, after: MadeCall): Finding | null {
	const [old, now] = [before.call.arguments, after.call.arguments];
	const where = `The retry in ${messageName(after.message.index)}`;
	const common = { check: 'retry', severity: 'error', at: [after.place, before.place] } as const;
	const { name } = after.call;
	if (canonicalText(old) === canonicalText(now)) {
		return {
			...common,
			title: `The retry of ${name} changed nothing`,
			text: `${where} has the same arguments as the failed call in ${messageName(before.message.index)}.`,
			quotes: [],
		};
	}
	if (!isTable(old) || !isTable(now)) return null;
	const known = new Set<string>();
	gatherValues(old, known, 0);
	const moved: string[] = [];
	const kept: string[] = [];
	for (const [key, value] of Object.entries(now)) {
		if (Object.hasOwn(old, key) && canonicalText(old[key]) === canonicalText(value)) kept.push(key);
		else if (known.has(canonicalText(value))) moved.push(key);
		else return null;
	}
	if (kept.length === 0 && moved.length === 0) return null;
	const error = before.results.map(({ text }) => text).join('\n');
	return {
		...common,
		title: `The retry of ${name} changed nothing`,
		text:
			`${where} adds no new information: ${listed(kept)} ${kept.length > 1 ? 'are' : 'is'} identical to ${messageName(before.message.index)}` +
			(moved.length > 0
				? `, and ${listed(moved)} ${moved.length > 1 ? 'are copies' : 'is a copy'} of text from other fields.`
				: '.'),
		quotes: [{ label: 'Original error', text: quote(error) }],
	};
}

/** Collects all values nested in a value, as canonical text. */
function gatherValues(value: unknown, into: Set<string>, depth: number): void {
	if (depth > 6 || into.size > 2000) return;
	into.add(canonicalText(value));
	const inner = Array.isArray(value) ? value : isTable(value) ? Object.values(value) : [];
	for (const item of inner) gatherValues(item, into, depth + 1);
}
