import { madeCalls } from '../calls.ts';
import { type Finding, messageName, quote } from '../finding.ts';
import type { Transcript } from '../transcript.ts';

/** Finds arguments that cannot be parsed, and calls that are recorded differently in two fields of a message. */
export function findArgumentFaults(transcript: Transcript): Finding[] {
	const findings: Finding[] = [];
	for (const { call, place, message } of madeCalls(transcript)) {
		if (call.fault === null) continue;
		findings.push({
			check: 'arguments',
			severity: 'error',
			title: `Cannot parse the arguments of ${call.name}`,
			text: `${call.fault}, in ${messageName(message.index)}.`,
			at: [place],
			quotes: [{ label: 'Arguments', text: quote(call.text) }],
		});
	}
	for (const { index, contradictions } of transcript.messages) {
		for (const words of contradictions) {
			findings.push({
				check: 'arguments',
				severity: 'warning',
				title: 'Conflicting message fields',
				text: `In ${messageName(index)}, ${words}.`,
				at: [{ message: index, call: null }],
				quotes: [],
			});
		}
	}
	return findings;
}
