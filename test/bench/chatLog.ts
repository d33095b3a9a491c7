import { open } from 'node:fs/promises';

const words = 'the agent reads a page, compares its sources and asks for the date of an event before it answers'.split(
	' ',
);

/**
 * Writes a chat log in the format of OpenAI's API: JSON lines with a task, an answer with a tool call, and its result,
 * in turn. Deterministic.
 */
export async function writeChatLog(path: string, messages: number): Promise<void> {
	let state = 1;
	const random = (below: number): number => {
		state = (state * 48_271) % 2_147_483_647;
		return state % below;
	};
	const text = (count: number) => Array.from({ length: count }, () => words[random(words.length)]).join(' ');
	const handle = await open(path, 'w');
	try {
		let lines: string[] = [];
		for (let i = 0; i < messages; i++) {
			lines.push(JSON.stringify(messageOf(i, text, random)));
			if (lines.length < 5000 && i + 1 < messages) continue;
			await handle.write(`${lines.join('\n')}\n`);
			lines = [];
		}
	} finally {
		await handle.close();
	}
}

function messageOf(i: number, text: (words: number) => string, random: (below: number) => number): object {
	const id = `call_${Math.floor(i / 3)}`;
	if (i % 3 === 0) return { role: 'user', content: text(12) };
	if (i % 3 === 2) return { role: 'tool', tool_call_id: id, content: text(60) };
	const call = { name: 'search', arguments: JSON.stringify({ query: text(4) }) };
	const [read, written] = [500 + random(4000), 20 + random(80)];
	return {
		...{ role: 'assistant', content: text(20), tool_calls: [{ id, type: 'function', function: call }] },
		usage: { prompt_tokens: read, completion_tokens: written, total_tokens: read + written },
	};
}
