/** Full-width forms of ASCII characters, except the tilde, which is used as a separator in such text. */
const forms = /[\uff01-\uff5d]/g;
/** Offset between a full-width form and its ASCII character (Unicode block "Halfwidth and Fullwidth Forms"). */
const offset = 0xfee0;

/** Converts the digits, letters, and symbols of East Asian text (`１２`, `ｘ＋１`, `（`) to ASCII, and braces to LaTeX. */
export function withoutFullWidth(text: string): string {
	return text.replace(forms, (form) => {
		const character = String.fromCodePoint((form.codePointAt(0) as number) - offset);
		return character === '{' || character === '}' ? `\\${character}` : character;
	});
}
