import type { ChatMessage } from '../protocol/scorer.ts';

/** Returns the problem in a conversation, for policies that do not take instructions: the user's message. */
export function problemOf(messages: readonly ChatMessage[]): string {
	const said = messages.filter(({ role }) => role === 'user');
	return (said.length === 0 ? messages : said).map(({ content }) => content ?? '').join('\n\n');
}
