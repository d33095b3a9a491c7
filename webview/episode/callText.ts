import type { ToolCall } from '../../src/protocol/episode.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';

/** Formats a call on one line: `guess(value: 50)`. */
export function callText({ name, arguments: given }: ToolCall, limit = 80): string {
	return plainLabel(`${name}(${argumentsText(given)})`, limit);
}

function argumentsText(given: unknown): string {
	if (given === undefined || given === null) return '';
	if (typeof given !== 'object' || Array.isArray(given)) return JSON.stringify(given);
	return Object.entries(given)
		.map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
		.join(', ');
}
