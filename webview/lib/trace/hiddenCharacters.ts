import { hiddenCharacters } from '../../../src/core/text/hiddenCharacters.ts';

export { type HiddenCharacter, hiddenCharacters, hiddenLabel } from '../../../src/core/text/hiddenCharacters.ts';

/** Returns text with its hidden characters written out. */
export function visibleText(text: string): string {
	let out = '';
	let at = 0;
	for (const character of hiddenCharacters(text)) {
		out += `${text.slice(at, character.start)}⟨${character.label}⟩`;
		at = character.end;
	}
	return out + text.slice(at);
}

/**
 * Returns short text for attributes and one-line labels: hidden characters are written out, and line breaks become
 * spaces.
 */
export function plainLabel(text: string, limit = 200): string {
	const cut = text.length > limit ? `${text.slice(0, limit)}…` : text;
	return visibleText(cut).replace(/\s+/g, ' ').trim();
}
