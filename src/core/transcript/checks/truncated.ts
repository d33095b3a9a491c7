import { type Finding, messageName } from '../finding.ts';
import type { Transcript } from '../transcript.ts';

const reasons = new Set(['length', 'max_tokens', 'max_output_tokens', 'model_length']);

/** Finds answers that were truncated at the length limit. */
export function findTruncated({ messages }: Transcript): Finding[] {
	return messages
		.filter(({ finishReason }) => finishReason !== null && reasons.has(finishReason.toLowerCase()))
		.map(({ index, finishReason }) => ({
			check: 'truncated',
			severity: 'warning',
			title: 'Truncated answer',
			text: `The model stopped at the length limit in ${messageName(index)} (${finishReason}).`,
			at: [{ message: index, call: null }],
			quotes: [],
		}));
}
