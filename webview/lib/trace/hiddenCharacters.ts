import { hiddenCharacters } from '../../../src/core/text/hiddenCharacters.ts';

export { type HiddenCharacter, hiddenCharacters, hiddenLabel } from '../../../src/core/text/hiddenCharacters.ts';

/** The text with hidden characters written out. */
export function visibleText(text: string): string {
	let out = '';
	let at = 0;
	for (const character of hiddenCharacters(text)) {
		out += `${text.slice(at, character.start)}⟨${character.label}⟩`;
		at = character.end;
	}
	return out + text.slice(at);
}

/** A short text with hidden characters written out, for attributes and one-line labels; line breaks become spaces. */
export function plainLabel(text: string, limit = 200): string {
	const cut = text.length > limit ? `${text.slice(0, limit)}…` : text;
	return visibleText(cut).replace(/\s+/g, ' ').trim();
}
