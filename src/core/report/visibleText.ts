import { hiddenCharacters } from '../text/hiddenCharacters.ts';

const pictures = 0x2400;

/**
 * Makes invisible characters visible. Shows control characters as control pictures (U+2400 and up), bidi and other
 * invisible characters as their code points, and unpaired surrogates as U+FFFD. Keeps line feeds and tabs.
 */
export function visibleText(text: string): string {
	const lines = text.replace(/\r\n/g, '\n');
	let out = '';
	let at = 0;
	for (const { start, end } of hiddenCharacters(lines)) {
		out += lines.slice(at, start) + shown(lines.slice(start, end));
		at = end;
	}
	return (out + lines.slice(at)).replace(/\p{Noncharacter_Code_Point}/gu, shown);
}

/** Like `visibleText`, but on a single line. */
export function visibleLine(text: string): string {
	return visibleText(text).replace(/[\n\t]+/g, ' ');
}

function shown(character: string): string {
	const code = character.codePointAt(0) as number;
	if (code < 0x20) return String.fromCharCode(pictures + code);
	if (code === 0x7f) return '\u2421';
	if (code >= 0xd800 && code <= 0xdfff) return '\ufffd';
	return `[U+${code.toString(16).toUpperCase().padStart(4, '0')}]`;
}
