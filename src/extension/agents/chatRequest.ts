import type { ChatMessage } from '../../protocol/scorer.ts';

/** Chat message, independent of the editor's classes. */
export interface ChatTurn {
	readonly role: 'user' | 'assistant';
	readonly text: string;
}

/** Maximum length of a conversation in characters; the oldest turns are dropped. */
const maxCharacters = 400_000;

/**
 * Returns the messages for a policy. Instruction-following policies get the whole conversation. Other policies complete
 * a prompt and only get the latest question, because their template has no room for more.
 */
export function chatMessages(turns: readonly ChatTurn[], instructions: boolean): ChatMessage[] {
	const said = turns.filter(({ text }) => text.trim() !== '');
	const question = said.findLast(({ role }) => role === 'user');
	if (question === undefined) return [];
	if (!instructions) return [{ role: 'user', content: question.text.slice(-maxCharacters) }];
	const messages: ChatMessage[] = [];
	let room = maxCharacters;
	for (const { role, text } of said.toReversed()) {
		if (messages.length > 0 && text.length > room) break;
		const content = text.slice(-room);
		room -= content.length;
		const [next] = messages;
		// Chat templates require alternating roles.
		if (next?.role === role) messages[0] = { role, content: `${content}\n\n${next.content}` };
		else messages.unshift({ role, content });
	}
	return messages[0]?.role === 'assistant' ? messages.slice(1) : messages;
}

/** Request settings, from the caller's options. */
export interface ChatSampling {
	readonly temperature: number;
	readonly topP: number;
	readonly maxTokens: number;
}

/**
 * Returns the sampling settings: those requested, otherwise those of the run, otherwise the defaults. Invalid values
 * are ignored.
 */
export function chatSampling(
	options: Readonly<Record<string, unknown>>,
	trained: { readonly temperature: number | null; readonly maxTokens: number | null },
	most: number,
): ChatSampling {
	const number = (names: readonly string[], low: number, high: number): number | null => {
		const value = names.map((name) => options[name]).find((option) => typeof option === 'number');
		return typeof value === 'number' && value >= low && value <= high ? value : null;
	};
	return {
		temperature: number(['temperature'], 0, 10) ?? trained.temperature ?? 0.7,
		topP: number(['top_p', 'topP'], 0.01, 1) ?? 1,
		maxTokens: Math.floor(Math.min(most, number(['max_tokens', 'maxTokens'], 1, 1e6) ?? trained.maxTokens ?? 1024)),
	};
}
