import { Failure } from '../../base/failure.ts';
import { vocabularyTags } from './latentTags.ts';
import type { Template } from './template.ts';
import { createTokenizer, specialTokens, type Tokenizer } from './tokenizer.ts';

/** Maximum vocabulary size, large enough for character tokenizers in any script. */
export const maxVocabulary = 65_536;

const characterOrder = (a: string, b: string) => (a.codePointAt(0) as number) - (b.codePointAt(0) as number);

/**
 * Builds the vocabulary for a template and dataset: special tokens, tags, then characters sorted by code point, so that
 * ids do not depend on the order of the characters.
 * @param characters strings of any length, which are split into code points
 */
export function buildTokenizer(template: Template, characters: Iterable<string>): Tokenizer {
	const tags = vocabularyTags(template);
	const known = new Set<string>();
	const add = (text: string) => {
		for (const character of text) known.add(character);
	};
	let frame = template.prompt.split('{prompt}').join('');
	for (const tag of tags) frame = frame.split(tag).join('');
	add(frame);
	for (const text of characters) add(text);
	const sorted = [...known].sort(characterOrder);
	const broken = sorted.find((character) => !character.isWellFormed());
	if (broken !== undefined) {
		throw new Failure(
			'invalid',
			`The dataset contains an invalid character (unpaired surrogate U+${broken.charCodeAt(0).toString(16).toUpperCase()}).`,
			'Remove it from the dataset.',
		);
	}
	if (sorted.length + tags.length + specialTokens.length > maxVocabulary) {
		throw new Failure(
			'invalid',
			`The dataset has ${sorted.length} distinct characters, but a vocabulary can have at most ${maxVocabulary}.`,
			'Use training data with fewer distinct characters.',
		);
	}
	return createTokenizer(tags, sorted);
}
