export interface TokenBlock {
	/** Token positions covered by the block. */
	readonly start: number;
	readonly end: number;
	readonly characters: number;
}

/** Divides tokens into blocks that are drawn as a unit, at a line feed if there is one and otherwise at the limit. */
export function tokenBlocks(text: readonly string[], tokens = 256, characters = 2048): TokenBlock[] {
	const blocks: TokenBlock[] = [];
	let start = 0;
	let length = 0;
	for (let i = 0; i < text.length; i++) {
		const token = text[i] as string;
		length += token.length;
		const last = i === text.length - 1;
		const full = i + 1 - start >= tokens || length >= characters;
		if (!last && !full && !(token.endsWith('\n') && i + 1 - start >= 24)) continue;
		blocks.push({ start, end: i + 1, characters: length });
		start = i + 1;
		length = 0;
	}
	return blocks;
}
