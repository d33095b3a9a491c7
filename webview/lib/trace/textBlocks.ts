/** Part of a long text that is rendered as a unit. */
export interface TextBlock {
	/** UTF-16 offsets; blocks are contiguous. */
	readonly start: number;
	readonly end: number;
	/** Whether the block continues a line that was too long for one block. */
	readonly continued: boolean;
	/** Number of line feeds in the block. */
	readonly breaks: number;
}

export const blockLimits = { characters: 2048, lines: 48 } as const;

/**
 * Returns an offset near `at` and greater than `start` that does not split a surrogate pair or separate a letter from
 * its combining marks.
 */
function safeCut(text: string, start: number, at: number): number {
	for (let cut = at; cut > start && at - cut < 64; cut--) {
		const code = text.charCodeAt(cut);
		if (code >= 0xdc00 && code <= 0xdfff) continue;
		if (code === 0x200d || text.charCodeAt(cut - 1) === 0x200d) continue;
		if (/^\p{Mark}/u.test(text.slice(cut, cut + 2))) continue;
		return cut;
	}
	const code = text.charCodeAt(at);
	return code >= 0xdc00 && code <= 0xdfff ? at + 1 : at;
}

/**
 * Splits [start, end) of the text into blocks: at line ends if possible, otherwise at spaces, otherwise at any safe
 * offset.
 */
export function textBlocks(
	text: string,
	start = 0,
	end = text.length,
	limits: { readonly characters: number; readonly lines: number } = blockLimits,
): TextBlock[] {
	const blocks: TextBlock[] = [];
	let at = start;
	let continued = false;
	while (at < end) {
		const limit = Math.min(end, at + limits.characters);
		let cut = -1;
		let breaks = 0;
		for (let feed = text.indexOf('\n', at); feed !== -1 && feed < limit; feed = text.indexOf('\n', feed + 1)) {
			cut = feed + 1;
			breaks++;
			if (breaks >= limits.lines) break;
		}
		const rest = end <= limit && breaks < limits.lines;
		if (rest) cut = end;
		else if (cut === -1) {
			const space = text.lastIndexOf(' ', limit - 1);
			cut = space > at + limits.characters / 2 ? space + 1 : safeCut(text, at, limit);
		}
		blocks.push({ start: at, end: cut, continued, breaks });
		continued = text.charCodeAt(cut - 1) !== 10;
		at = cut;
	}
	return blocks;
}
