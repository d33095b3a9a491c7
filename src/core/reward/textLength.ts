import type { LengthSection, LengthUnit } from '../../protocol/recipeKeys/builtInRewards.ts';
import { templateTags } from '../text/template.ts';
import type { TraceTags } from '../trace/trace.ts';
import { wordsOf } from '../trace/wordPlaces.ts';
import { type RewardSample, thinkingOf, writtenText } from './rewardSample.ts';

function codePoints(text: string): number {
	let n = 0;
	for (const _ of text) n++;
	return n;
}

/**
 * Returns the length of the text in the given unit. Tokens are counted as in the embedded engine, excluding the
 * end-of-sequence token: each template tag is one token, and so is every other character. Tokens are counted from the
 * text, so recorded rollouts have the same length as in training.
 */
export function textLength(text: string, unit: LengthUnit, tags: TraceTags): number {
	if (unit === 'words') return wordsOf(text).length;
	let length = codePoints(text);
	if (unit === 'characters') return length;
	let rest = text;
	for (const tag of templateTags(tags).sort((a, b) => b.length - a.length)) {
		const parts = rest.split(tag);
		length -= (parts.length - 1) * (codePoints(tag) - 1);
		// No tag contains the separator, so the text around a removed tag cannot form a new one.
		rest = parts.join('\0');
	}
	return length;
}

/** Returns the length that a reward measures; null if it measures the thinking section and there is none. */
export function lengthOf(
	sample: RewardSample,
	{ unit, of }: { readonly unit: LengthUnit; readonly of: LengthSection },
	tags: TraceTags,
): number | null {
	const text = of === 'thinking' ? thinkingOf(sample, tags) : writtenText(sample);
	return text === null ? null : textLength(text, unit, tags);
}
