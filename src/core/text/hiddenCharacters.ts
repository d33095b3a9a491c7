/**
 * Invisible characters that change how text is read: C0 and C1 controls (except tab and line feed), soft hyphen,
 * bidirectional controls, zero-width characters, invisible operators, line and paragraph separators, fillers,
 * annotation and tag characters, lone surrogates (Boucher and Anderson 2021, "Trojan Source").
 */
const ranges: readonly (readonly [number, number])[] = [
	[0x00, 0x08],
	[0x0b, 0x1f],
	[0x7f, 0x9f],
	[0xad, 0xad],
	[0x34f, 0x34f],
	[0x61c, 0x61c],
	[0x115f, 0x1160],
	[0x17b4, 0x17b5],
	[0x180b, 0x180e],
	[0x200b, 0x200f],
	[0x2028, 0x202e],
	[0x2060, 0x206f],
	[0x3164, 0x3164],
	[0xd800, 0xdfff],
	[0xfe00, 0xfe0f],
	[0xfeff, 0xfeff],
	[0xffa0, 0xffa0],
	[0xfff9, 0xfffb],
	[0x1d173, 0x1d17a],
	[0xe0000, 0xe01ef],
];
const escaped = (code: number): string => `\\u{${code.toString(16)}}`;
const hidden = new RegExp(`[${ranges.map(([low, high]) => `${escaped(low)}-${escaped(high)}`).join('')}]`, 'gu');

const names: Readonly<Record<number, string>> = {
	0: 'NUL',
	8: 'BS',
	11: 'VT',
	12: 'FF',
	13: 'CR',
	27: 'ESC',
	127: 'DEL',
	133: 'NEL',
	173: 'SHY',
	1564: 'ALM',
	8203: 'ZWSP',
	8204: 'ZWNJ',
	8205: 'ZWJ',
	8206: 'LRM',
	8207: 'RLM',
	8232: 'LSEP',
	8233: 'PSEP',
	8234: 'LRE',
	8235: 'RLE',
	8236: 'PDF',
	8237: 'LRO',
	8238: 'RLO',
	8288: 'WJ',
	8294: 'LRI',
	8295: 'RLI',
	8296: 'FSI',
	8297: 'PDI',
	65279: 'BOM',
};

export interface HiddenCharacter {
	/** UTF-16 offset in the text. */
	readonly start: number;
	readonly end: number;
	/** Display label: `RLO`, or `U+2062` if there is no common abbreviation. */
	readonly label: string;
}

const emojiBefore = /\p{Extended_Pictographic}[\u{1f3fb}-\u{1f3ff}\ufe0f]?$/u;
const emojiAfter = /^\p{Extended_Pictographic}/u;
const joiningScript =
	/[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}\p{Script=Mongolian}]\p{Mark}*$/u;

/** Returns whether a joiner is legitimate: inside an emoji, or in a script that uses joiners. */
function ordinary(text: string, at: number, code: number): boolean {
	if (code === 13) return text.charCodeAt(at + 1) === 10;
	const before = text.slice(Math.max(0, at - 6), at);
	if (code === 0xfe0e || code === 0xfe0f) return /[\p{Extended_Pictographic}#*\d]$/u.test(before);
	if (code === 0x200d && emojiBefore.test(before) && emojiAfter.test(text.slice(at + 1, at + 3))) return true;
	return (code === 0x200c || code === 0x200d) && joiningScript.test(before);
}

export function hiddenLabel(code: number): string {
	return names[code] ?? `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Returns the hidden characters between two offsets, in order. */
export function hiddenCharacters(text: string, start = 0, end = text.length): HiddenCharacter[] {
	const found: HiddenCharacter[] = [];
	for (const match of text.slice(start, end).matchAll(hidden)) {
		const at = start + match.index;
		const code = match[0].codePointAt(0) as number;
		if (!ordinary(text, at, code)) found.push({ start: at, end: at + match[0].length, label: hiddenLabel(code) });
	}
	return found;
}
