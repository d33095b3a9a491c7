import { isFailure, madeCalls } from '../calls.ts';
import { type Finding, messageName, quote } from '../finding.ts';
import type { Transcript } from '../transcript.ts';

/** Finds calls with a failed result, based on the format's error field or, if it has none, on typical error text. */
export function findFailedCalls(transcript: Transcript): Finding[] {
	return madeCalls(transcript).flatMap(({ call, place, results }) =>
		results.filter(isFailure).map(
			(result): Finding => ({
				check: 'failedCall',
				severity: 'error',
				title: `${call.name} failed`,
				text: `The call to ${call.name} in ${messageName(place.message)} returned an error in ${messageName(result.index)}.`,
				at: [{ message: result.index, call: null }, place],
				quotes: [{ label: 'Error', text: quote(result.text) }],
			}),
		),
	);
}
