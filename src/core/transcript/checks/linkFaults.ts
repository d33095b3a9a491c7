import { madeCalls } from '../calls.ts';
import { type Finding, listed, messageName, messageNameFirst } from '../finding.ts';
import type { Transcript } from '../transcript.ts';

/** Finds calls with no result or several results, results without a call, and duplicate call ids. */
export function findLinkFaults(transcript: Transcript): Finding[] {
	const { messages, orphans } = transcript;
	const calls = madeCalls(transcript);
	const findings: Finding[] = [];
	// Some logs record only calls, never results.
	const hasResults = messages.some(({ result }) => result !== null);
	const ids = new Map<string, number>();
	for (const { call, place, results } of calls) {
		const where = messageName(place.message);
		if (results.length === 0 && hasResults) {
			const atEnd = place.message === messages.length - 1;
			findings.push({
				check: 'link',
				severity: atEnd ? 'warning' : 'error',
				title: `${call.name} has no result`,
				text: atEnd
					? `The transcript ends with the call to ${call.name} in ${where}, which was not executed.`
					: `The conversation continues without a result for the call to ${call.name} in ${where}.`,
				at: [place],
				quotes: [],
			});
		}
		if (results.length > 1) {
			findings.push({
				check: 'link',
				severity: 'error',
				title: `${call.name} has ${results.length} results`,
				text: `The call in ${where} has several results: ${listed(results.map(({ index }) => messageName(index)))}.`,
				at: [place, ...results.map(({ index }) => ({ message: index, call: null }))],
				quotes: [],
			});
		}
		if (call.id === null) continue;
		const earlier = ids.get(call.id);
		if (earlier !== undefined) {
			findings.push({
				check: 'link',
				severity: 'error',
				title: 'Duplicate call id',
				text: `${call.id} is used for a call in ${messageName(earlier)} and for another one in ${where}.`,
				at: [place, { message: earlier, call: null }],
				quotes: [],
			});
		}
		ids.set(call.id, place.message);
	}
	for (const index of orphans) {
		const id = messages[index]?.result?.callId;
		findings.push({
			check: 'link',
			severity: 'error',
			title: 'Result without a call',
			text: `${messageNameFirst(index)} is the result of ${id == null ? 'a call that' : `the call ${id}, which`} does not occur in any earlier message.`,
			at: [{ message: index, call: null }],
			quotes: [],
		});
	}
	return findings;
}
