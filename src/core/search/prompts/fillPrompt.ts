import type { ChatMessage } from '../../../protocol/scorer.ts';

/** Fills the `{name}` placeholders in a prompt in one pass, so that placeholders in inserted text are not replaced. */
export function fillPrompt(prompt: string, texts: Readonly<Record<string, string | number>>): string {
	return prompt.replace(/\{([a-z]+)\}/g, (place, name: string) =>
		Object.hasOwn(texts, name) ? String(texts[name]) : place,
	);
}

export function user(content: string): ChatMessage {
	return { role: 'user', content };
}

export function assistant(content: string): ChatMessage {
	return { role: 'assistant', content };
}

/** Formats strings as `1. first`, `2. second` for a prompt, or as '(none)' if there are none. */
export function numbered(texts: readonly string[], word = ''): string {
	if (texts.length === 0) return '(none)';
	const name = word === '' ? '' : `${word} `;
	return texts.map((text, i) => `${name}${i + 1}${name === '' ? '.' : ':'} ${text.trim()}`).join('\n');
}
