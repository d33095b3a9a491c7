import { type Inline, parseInline } from './parseInline.ts';

/**
 * A block of a Markdown document. Renderers show text literally, including any HTML in the source.
 */
export type Block =
	| { readonly kind: 'heading'; readonly level: number; readonly text: readonly Inline[] }
	| { readonly kind: 'paragraph'; readonly text: readonly Inline[] }
	| { readonly kind: 'quote'; readonly text: readonly Inline[] }
	| { readonly kind: 'list'; readonly items: readonly ListItem[] }
	| { readonly kind: 'code'; readonly text: string }
	| { readonly kind: 'table'; readonly header: readonly Cell[]; readonly rows: readonly (readonly Cell[])[] }
	| { readonly kind: 'rule' };

export type Cell = readonly Inline[];

export interface ListItem {
	/** "1." for a numbered item, otherwise "•". */
	readonly mark: string;
	/** Nesting level, from 0. */
	readonly depth: number;
	readonly text: readonly Inline[];
}

const maxBlocks = 20_000;
const heading = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const fence = /^ {0,3}(`{3,}|~{3,})[^`]*$/;
const rule = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const item = /^([ \t]*)(?:([-*+])|(\d{1,9})[.)])[ \t]+(.*)$/;
const quote = /^ {0,3}> ?(.*)$/;
const divider = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

/**
 * Parses the subset of Markdown used in reports: headings, paragraphs, lists, quotes, fenced code, tables, and rules.
 * Anything else becomes a paragraph. Takes time linear in the text.
 */
export function parseMarkdown(source: string): Block[] {
	const lines = source.replaceAll('\r\n', '\n').split('\n');
	const blocks: Block[] = [];
	for (let at = 0; at < lines.length && blocks.length < maxBlocks; ) {
		if ((lines[at] as string).trim() === '') {
			at++;
			continue;
		}
		const [block, next] = blockAt(lines, at);
		blocks.push(block);
		at = next;
	}
	return blocks;
}

/** Returns the block that starts at a line, and the line after it. */
function blockAt(lines: readonly string[], at: number): [block: Block, next: number] {
	const line = lines[at] as string;
	const opening = fence.exec(line);
	if (opening !== null) return codeAt(lines, at, opening[1] as string);
	const head = heading.exec(line);
	if (head !== null) {
		return [{ kind: 'heading', level: (head[1] as string).length, text: parseInline(head[2] ?? '') }, at + 1];
	}
	if (rule.test(line)) return [{ kind: 'rule' }, at + 1];
	if (isTable(lines, at)) return tableAt(lines, at);
	if (item.test(line)) return listAt(lines, at);
	if (quote.test(line)) {
		const end = endOf(lines, at, (text) => quote.test(text));
		const text = lines.slice(at, end).map((one) => quote.exec(one)?.[1] ?? '');
		return [{ kind: 'quote', text: parseInline(text.join('\n')) }, end];
	}
	const end = endOf(lines, at, (text, i) => !startsBlock(lines, i, text));
	return [
		{
			kind: 'paragraph',
			text: parseInline(
				lines
					.slice(at, end)
					.map((one) => one.trim())
					.join('\n'),
			),
		},
		end,
	];
}

/** Returns the first line after `at` that is blank or for which `belongs` is false. */
function endOf(lines: readonly string[], at: number, belongs: (text: string, line: number) => boolean): number {
	let end = at + 1;
	while (end < lines.length && lines[end]?.trim() !== '' && belongs(lines[end] as string, end)) end++;
	return end;
}

function startsBlock(lines: readonly string[], at: number, line: string): boolean {
	return [fence, heading, rule, item, quote].some((pattern) => pattern.test(line)) || isTable(lines, at);
}

function codeAt(lines: readonly string[], at: number, mark: string): [Block, number] {
	const closing = new RegExp(`^ {0,3}${mark[0]}{${mark.length},}[ \\t]*$`);
	let end = at + 1;
	while (end < lines.length && !closing.test(lines[end] as string)) end++;
	return [{ kind: 'code', text: lines.slice(at + 1, end).join('\n') }, end + 1];
}

function listAt(lines: readonly string[], at: number): [Block, number] {
	const items: { mark: string; depth: number; text: string[] }[] = [];
	const indents: number[] = [];
	let end = at;
	for (; end < lines.length; end++) {
		const line = lines[end] as string;
		const found = item.exec(line);
		if (found !== null && !rule.test(line)) {
			const indent = (found[1] as string).replaceAll('\t', '    ').length;
			while (indents.length > 0 && (indents.at(-1) as number) > indent) indents.pop();
			if (indents.length === 0 || (indents.at(-1) as number) < indent) indents.push(indent);
			const mark = found[3] === undefined ? '•' : `${found[3]}.`;
			items.push({ mark, depth: indents.length - 1, text: [found[4] as string] });
			continue;
		}
		// Text directly below an item continues it.
		if (line.trim() === '' || startsBlock(lines, end, line)) break;
		items.at(-1)?.text.push(line.trim());
	}
	const parsed = items.map(({ mark, depth, text }) => ({ mark, depth, text: parseInline(text.join('\n')) }));
	return [{ kind: 'list', items: parsed }, end];
}

const isTable = (lines: readonly string[], at: number): boolean =>
	(lines[at] ?? '').includes('|') && divider.test(lines[at + 1] ?? '') && (lines[at + 1] ?? '').includes('-');

function tableAt(lines: readonly string[], at: number): [Block, number] {
	const header = cellsOf(lines[at] as string);
	const end = endOf(lines, at + 1, (text) => text.includes('|'));
	const rows = lines.slice(at + 2, end).map((line) => {
		const cells = cellsOf(line);
		return header.map((_, i) => cells[i] ?? []);
	});
	return [{ kind: 'table', header, rows }, end];
}

/** Splits a row at its pipes, except escaped ones and those in code. */
function cellsOf(line: string): Cell[] {
	const cells: string[] = [''];
	let inCode = false;
	for (let i = 0; i < line.length; i++) {
		const character = line[i] as string;
		if (character === '`') inCode = !inCode;
		if (character === '\\' && line[i + 1] === '|') {
			cells[cells.length - 1] += '|';
			i++;
		} else if (character === '|' && !inCode) cells.push('');
		else cells[cells.length - 1] += character;
	}
	const trimmed = cells.map((cell) => cell.trim());
	if (trimmed[0] === '') trimmed.shift();
	if (trimmed.at(-1) === '') trimmed.pop();
	return trimmed.map((cell) => parseInline(cell));
}
