import type { LengthSection, LengthUnit } from '../../protocol/builtInRewards.ts';
import { templateTags } from '../text/template.ts';
import type { TraceTags } from '../trace/trace.ts';
import { wordsOf } from '../trace/wordPlaces.ts';
import { type RewardSample, thinkingOf } from './rewardSample.ts';

function codePoints(text: string): number {
	let n = 0;
	for (const _ of text) n++;
	return n;
}

/**
 * The length of a text. Tokens are the embedded engine's, without end-of-sequence: a tag of the template is one, any other
 * character is one. They are counted on the text, so that a recorded rollout has the length that it had in training.
 */
export function textLength(text: string, unit: LengthUnit, tags: TraceTags): number {
	if (unit === 'words') return wordsOf(text).length;
	let length = codePoints(text);
	if (unit === 'characters') return length;
	let rest = text;
	for (const tag of templateTags(tags).sort((a, b) => b.length - a.length)) {
		const parts = rest.split(tag);
		length -= (parts.length - 1) * (codePoints(tag) - 1);
		// One character that no tag holds, so that what is left and right of a tag does not become another one.
		rest = parts.join('\0');
	}
	return length;
}

/** The length that a reward measures; null: it measures the thinking, and there is none. */
export function lengthOf(
	sample: RewardSample,
	{ unit, of }: { readonly unit: LengthUnit; readonly of: LengthSection },
	tags: TraceTags,
): number | null {
	const text = of === 'thinking' ? thinkingOf(sample, tags) : sample.completion;
	return text === null ? null : textLength(text, unit, tags);
}
