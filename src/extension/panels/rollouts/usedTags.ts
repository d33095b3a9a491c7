import { messageText } from '../../../core/trace/messageText.ts';
import type { TraceTags } from '../../../core/trace/trace.ts';
import type { RunContent } from '../../../runs/runContent.ts';

/** Tag pairs requested by common prompts, most common first. */
const known = {
	think: ['think', 'thinking', 'reasoning', 'thought'],
	answer: ['answer', 'solution', 'final_answer'],
} as const;

const looked = 64;
const longest = 20_000;
/** Minimum fraction of completions that must contain a tag for the run to count as using it. */
const minShare = 0.25;

/**
 * Detects the tags around thinking and answer sections in the completions of a run from another trainer, whose prompt
 * template is unknown. Uses the latest step with rollouts; returns no tags if there is none.
 */
export async function usedTags(content: RunContent): Promise<TraceTags> {
	const step = (await content.steps()).at(-1);
	if (step === undefined) return { think: null, answer: null };
	const opened = await content.open(step);
	const texts: string[] = [];
	try {
		for await (const { rollout } of opened.rollouts()) {
			const text = rollout === null ? '' : messageText(rollout.completion);
			// Keep both ends, because the thinking section may be long.
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
	let max = Math.max(1, minShare * texts.length) - 1e-9;
	for (const name of names) {
		// Count only closing tags, because the opening tag may be part of the prompt.
		const count = texts.filter((text) => text.includes(`</${name}>`)).length;
		if (count > max) [best, max] = [name, count];
	}
	return best === null ? null : [`<${best}>`, `</${best}>`];
}
