import type { ChatMessage } from '../protocol/scorer.ts';

/** Returns the problem in a conversation (the user's message), for policies that do not accept instructions. */
export function problemOf(messages: readonly ChatMessage[]): string {
	const said = messages.filter(({ role }) => role === 'user');
	return (said.length === 0 ? messages : said).map(({ content }) => content ?? '').join('\n\n');
}
