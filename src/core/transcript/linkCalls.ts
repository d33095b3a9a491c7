import type { CallLink, TranscriptMessage } from './transcript.ts';

/**
 * Links each call to the messages that contain its result, by call id. In formats without ids (OpenAI's legacy
 * `function_call`), the results after a message are matched with its calls by name, in order.
 */
export function linkCalls(messages: readonly TranscriptMessage[]): { links: CallLink[]; orphans: number[] } {
	const links: { message: number; call: number; results: number[] }[] = [];
	const byId = new Map<string, (typeof links)[number]>();
	let unnamed: { name: string; link: (typeof links)[number] }[] = [];
	const orphans: number[] = [];
	for (const message of messages) {
		if (message.calls.length > 0) unnamed = [];
		message.calls.forEach((call, i) => {
			const link = { message: message.index, call: i, results: [] };
			links.push(link);
			// If ids are not unique, a result belongs to the nearest preceding call.
			if (call.id !== null) byId.set(call.id, link);
			else unnamed.push({ name: call.name, link });
		});
		if (message.result === null) continue;
		const { callId } = message.result;
		if (callId !== null) {
			const link = byId.get(callId);
			if (link) link.results.push(message.index);
			else orphans.push(message.index);
			continue;
		}
		const at = unnamed.findIndex(({ name }) => message.name === null || name === message.name);
		const [next] = at === -1 ? [] : unnamed.splice(at, 1);
		if (next) next.link.results.push(message.index);
		else orphans.push(message.index);
	}
	return { links, orphans };
}
