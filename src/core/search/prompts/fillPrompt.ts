import type { ChatMessage } from '../../../protocol/scorer.ts';

/** A prompt with texts in its places `{name}`, in one pass: what a text holds is never taken for a place. */
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

/** `1. first`, `2. second`: several texts for a prompt; '(none)' for no text. */
export function numbered(texts: readonly string[], word = ''): string {
	if (texts.length === 0) return '(none)';
	const name = word === '' ? '' : `${word} `;
	return texts.map((text, i) => `${name}${i + 1}${name === '' ? '.' : ':'} ${text.trim()}`).join('\n');
}
