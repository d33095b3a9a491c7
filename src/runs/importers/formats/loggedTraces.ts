import type { Message } from '../../../protocol/rolloutLine.ts';
import { messagesOf } from '../foreignMessages.ts';

/* Conversations logged to trackers, which record neither which messages the model wrote nor which dataset they come from. */

/** Splits a conversation at its first answer; returns null if the value is not a list of messages. */
export function conversationOf(value: unknown): { prompt: Message[]; completion: Message[] | '' } | null {
	const messages = messagesOf(value);
	if (messages === null || messages.length === 0) return null;
	const first = messages.findIndex(({ role }) => role === 'assistant');
	if (first < 0) return { prompt: messages, completion: '' };
	return { prompt: messages.slice(0, first), completion: messages.slice(first) };
}

/** Returns whether a logged name belongs to an evaluation. */
export function isEvaluationKey(key: string): boolean {
	return /^(eval|evaluation|val|valid|validation|test)([/_.-]|$)/i.test(key);
}
