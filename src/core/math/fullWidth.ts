/** Full-width forms of ASCII characters. Not the tilde, which stands between words there. */
const forms = /[\uff01-\uff5d]/g;
/** From a full-width form to its ASCII character (Unicode, block "Halfwidth and Fullwidth Forms"). */
const offset = 0xfee0;

/** Digits, letters and signs as East Asian text writes them (`１２`, `ｘ＋１`, `（`) in ASCII; braces as LaTeX shows them. */
export function withoutFullWidth(text: string): string {
	return text.replace(forms, (form) => {
		const character = String.fromCodePoint((form.codePointAt(0) as number) - offset);
		return character === '{' || character === '}' ? `\\${character}` : character;
	});
}
