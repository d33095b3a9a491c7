import { visibleText } from './visibleText.ts';

const entities: Readonly<Record<string, string>> = {
	'&': '&amp;',
	'<': '&lt;',
	'>': '&gt;',
	'"': '&quot;',
	"'": '&#39;',
	'`': '&#96;',
};

/** A text that is a text in HTML, in an element as in a quoted attribute, whatever it holds. */
export function htmlText(text: string): string {
	return visibleText(text).replace(/[&<>"'`]/g, (character) => entities[character] as string);
}
