import type { RolloutLine } from '../../protocol/rolloutLine.ts';

/**
 * Returns a key that identifies a problem across runs: the words of the last user message, or the full text of a plain
 * prompt. Templates, system prompts, and whitespace are ignored because they vary between trainers.
 */
export function problemKey(prompt: RolloutLine['prompt']): string {
	if (typeof prompt === 'string') return plain(prompt);
	const asked = prompt.findLast(({ role, content }) => role === 'user' && content !== null) ?? prompt.at(-1);
	return plain(asked?.content ?? '');
}

const plain = (text: string): string => text.replace(/\s+/g, ' ').trim();
