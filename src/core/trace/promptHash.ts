import { mix32 } from '../../base/random.ts';
import type { RolloutLine } from '../../protocol/rolloutLine.ts';
import { messageText } from './messageText.ts';

/**
 * Returns 16 hexadecimal digits that identify a prompt across steps and runs, computed with two multiplicative 32-bit
 * hashes of its UTF-16 code units. Not for security purposes.
 */
export function promptHash(prompt: RolloutLine['prompt']): string {
	const text = messageText(prompt);
	let a = 0x811c9dc5;
	let b = 0x9747b28c;
	for (let i = 0; i < text.length; i++) {
		const code = text.charCodeAt(i);
		a = Math.imul(a ^ code, 0x01000193);
		b = Math.imul(b ^ code, 0x5bd1e995);
		b ^= b >>> 15;
	}
	const hex = (word: number) => word.toString(16).padStart(8, '0');
	return hex(mix32(a ^ text.length)) + hex(mix32(b + text.length));
}
