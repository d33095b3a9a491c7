import type { Answer, ParseAnswer, Scalar, Sequence } from './answer.ts';
import { isEnclosed, splitOutside } from './brackets.ts';
import type { Expression } from './expression.ts';
import { commas, maxItems, parseSet } from './listAnswer.ts';
import * as Q from './rational.ts';
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
		// Brackets around a single item only group it.
		return open === '(' && close === ')' ? parse(inside) : null;
	}
	if (split.pieces.length > maxItems || split.pieces.some((piece) => piece === '')) return null;
	const items = split.pieces.map((piece) => parse(piece, true));
	if (items.some((item) => item === null || item.kind === 'words')) return null;
	return {
		kind: 'sequence',
		open: open === '[' ? '[' : '(',
		close: close === ']' ? ']' : ')',
		items: items as Answer[],
	} satisfies Sequence;
}

const matrixForm =
	/^(.*?)(\(|\[|\|)?\s*\\begin ?\{(pmatrix|bmatrix|matrix|vmatrix|Bmatrix|smallmatrix|array)\}(?: ?\{[lcr| ]*\})?(.*)\\end ?\{\3\}\s*(\)|\]|\|)?$/;

/** Parses a matrix with an optional leading factor. Between bars or after `\det`, parses its determinant. */
export function parseMatrix(t: string, parse: ParseAnswer): Answer | null {
	const match = matrixForm.exec(t);
	if (match === null) return null;
	const [, ahead = '', open, environment, body = '', close] = match;
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
	const before = ahead.replace(/\\det\s*$/, '').trim();
	let factor: Expression | null = null;
	if (before !== '') {
		factor = readable(before) ? readExpression(before.replace(/\\(?:cdot|times)\s*$/, '')) : null;
		if (factor === null) return null;
	}
	const times = (value: Expression): Expression =>
		factor === null ? value : { op: 'multiply', args: [factor, value] };
	if (environment === 'vmatrix' || before !== ahead.trim() || (open === '|' && close === '|')) {
		const value = determinant(cells as Answer[][]);
		return value && scalar(times(value), t);
	}
	const scaled = (cell: Answer): Answer | null => {
		if (factor === null) return cell;
		return cell.kind === 'scalar' ? scalar(times(cell.expression), cell.source) : null;
	};
	const result = cells.map((row) => row.map((cell) => scaled(cell as Answer)));
	if (result.some((row) => row.some((cell) => cell === null))) return null;
	return { kind: 'matrix', rows: result as Answer[][] };
}

/** Maximum number of rows in a determinant; with more rows, its expansion has too many terms. */
const maxDeterminantRows = 5;

/**
 * Computes the determinant by Laplace expansion along the first row. Returns null if the matrix is not square, is too
 * large, or has entries other than plain numbers and letters.
 */
function determinant(rows: readonly (readonly Answer[])[]): Expression | null {
	const size = rows.length;
	if (size > maxDeterminantRows || rows.some((row) => row.length !== size)) return null;
	const first = rows[0] as readonly Answer[];
	if (rows.flat().some((cell) => cell.kind !== 'scalar' || cell.unit !== null || cell.percent)) return null;
	if (size === 1) return (first[0] as Scalar).expression;
	const terms = first.map((cell, column): Expression => {
		const minor = determinant(rows.slice(1).map((row) => row.filter((_, at) => at !== column))) as Expression;
		const sign: Expression = { op: 'number', value: Q.rational(column % 2 === 0 ? 1n : -1n) };
		return { op: 'multiply', args: [sign, (cell as Scalar).expression, minor] };
	});
	return { op: 'add', args: terms };
}
