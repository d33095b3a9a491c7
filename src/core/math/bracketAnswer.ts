import type { Answer, ParseAnswer, Sequence } from './answer.ts';
import { isEnclosed, splitOutside } from './brackets.ts';
import type { Expression } from './expression.ts';
import { commas, mostItems, parseSet } from './listAnswer.ts';
import { readExpression } from './readExpression.ts';
import { readable, scalar } from './scalarAnswer.ts';

export function parseBracketed(t: string, parse: ParseAnswer): Answer | null {
	if (!isEnclosed(t)) return null;
	const set = /^\\\{(.*)\\\}$/.exec(t);
	if (set !== null) return parseSet(set[1] as string, parse);
	const match = /^(\(|\[|\\langle)(.*?)(\)|\]|\\rangle)$/.exec(t);
	if (match === null) return null;
	const [, open, inside = '', close] = match;
	const split = splitOutside(inside, commas);
	if (split === null) return null;
	if (split.pieces.length === 1) {
		// Brackets around one thing only group it.
		return open === '(' && close === ')' ? parse(inside) : null;
	}
	if (split.pieces.length > mostItems || split.pieces.some((piece) => piece === '')) return null;
	const items = split.pieces.map((piece) => parse(piece, true));
	if (items.some((item) => item === null || item.kind === 'words')) return null;
	return {
		kind: 'sequence',
		open: open === '[' ? '[' : '(',
		close: close === ']' ? ']' : ')',
		items: items as Answer[],
	} satisfies Sequence;
}

export function parseMatrix(t: string, parse: ParseAnswer): Answer | null {
	const match =
		/^(.*?)(?:\(|\[|\|)?\s*\\begin ?\{(pmatrix|bmatrix|matrix|vmatrix|Bmatrix|smallmatrix|array)\}(?: ?\{[lcr| ]*\})?(.*)\\end ?\{\2\}\s*(?:\)|\]|\|)?$/.exec(
			t,
		);
	if (match === null) return null;
	const [, before = '', environment, body = ''] = match;
	if (body.includes('\\begin')) return null;
	const rows = body
		.split(/\\\\|\\cr(?![a-zA-Z])/)
		.map((row) => row.replace(/\\hline/g, '').trim())
		.filter((row) => row !== '');
	if (rows.length === 0 || rows.length > 12) return null;
	const cells = rows.map((row) => row.split('&').map((cell) => parse(cell, true)));
	const width = cells[0]?.length ?? 0;
	if (cells.some((row) => row.length !== width || row.some((cell) => cell === null || cell.kind === 'words')))
		return null;
	let factor: Expression | null = null;
	if (before.trim() !== '') {
		factor = readable(before) ? readExpression(before.replace(/\\(?:cdot|times)\s*$/, '')) : null;
		if (factor === null) return null;
	}
	const scaled = (cell: Answer): Answer | null => {
		if (factor === null) return cell;
		if (cell.kind !== 'scalar') return null;
		return scalar({ op: 'multiply', args: [factor, cell.expression] }, cell.source);
	};
	const result = cells.map((row) => row.map((cell) => scaled(cell as Answer)));
	if (result.some((row) => row.some((cell) => cell === null))) return null;
	return { kind: 'matrix', rows: result as Answer[][], determinant: environment === 'vmatrix' };
}
