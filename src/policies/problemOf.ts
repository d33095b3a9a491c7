import type { ChatMessage } from '../protocol/scorer.ts';

/** The problem of a conversation, for a policy that takes no instructions: what the user says. */
export function problemOf(messages: readonly ChatMessage[]): string {
	const said = messages.filter(({ role }) => role === 'user');
	return (said.length === 0 ? messages : said).map(({ content }) => content ?? '').join('\n\n');
}
