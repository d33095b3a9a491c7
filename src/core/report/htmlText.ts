import { visibleText } from './visibleText.ts';

const entities: Readonly<Record<string, string>> = {
	'&': '&amp;',
	'<': '&lt;',
	'>': '&gt;',
	'"': '&quot;',
	"'": '&#39;',
	'`': '&#96;',
};

/** Escapes text for HTML elements and quoted attributes. */
export function htmlText(text: string): string {
	return visibleText(text).replace(/[&<>"'`]/g, (character) => entities[character] as string);
}
