import { messageText } from '../../../core/trace/messageText.ts';
import type { TraceTags } from '../../../core/trace/trace.ts';
import type { RunContent } from '../../../runs/runContent.ts';

/** Pairs that trainers' prompts ask for, the usual ones first. */
const known = {
	think: ['think', 'thinking', 'reasoning', 'thought'],
	answer: ['answer', 'solution', 'final_answer'],
} as const;

const looked = 64;
const longest = 20_000;
/** Share of completions with a tag from which on a run is taken to ask for it. */
const minShare = 0.25;

/**
 * The tags around thinking and answer that the completions of another trainer's run have: nothing tells which template it
 * was asked for. Of the newest step; none where the run has no rollouts.
 */
export async function usedTags(content: RunContent): Promise<TraceTags> {
	const step = (await content.steps()).at(-1);
	if (step === undefined) return { think: null, answer: null };
	const opened = await content.open(step);
	const texts: string[] = [];
	try {
		for await (const { rollout } of opened.rollouts()) {
			const text = rollout === null ? '' : messageText(rollout.completion);
			// Both ends: thinking may be long.
			if (text !== '') texts.push(text.length > 2 * longest ? text.slice(0, longest) + text.slice(-longest) : text);
			if (texts.length >= looked) break;
		}
	} finally {
		await opened.close();
	}
	return { think: usedPair(texts, known.think), answer: usedPair(texts, known.answer) };
}

function usedPair(texts: readonly string[], names: readonly string[]): [string, string] | null {
	let best: string | null = null;
	let most = Math.max(1, minShare * texts.length) - 1e-9;
	for (const name of names) {
		// A closing tag alone is usual: the opening one may be the end of the prompt.
		const count = texts.filter((text) => text.includes(`</${name}>`)).length;
		if (count > most) [best, most] = [name, count];
	}
	return best === null ? null : [`<${best}>`, `</${best}>`];
}
