import { formatNumber } from '../../src/base/format.ts';
import type { Cell, ResultTable as Table, TextHit } from '../../src/protocol/rolloutIndex.ts';
import type { DataCell, DataColumn } from '../lib/dataTable.ts';
import { element } from '../lib/dom.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { type ColumnKind, kindOfType } from './queryForm.ts';

export interface TableColumn extends DataColumn {
	readonly cell: (row: number) => DataCell;
}

/** Maximum number of characters shown in a cell and in its tooltip. */
const cellLength = 400;
const titleLength = 2000;
/** Approximate character width and cell padding, in CSS pixels. */
const characterWidth = 7.2;
const cellPadding = 22;
const sampled = 60;

/** Formats a value as cell text on one line, with invisible characters written out. */
export function cellText(value: Cell | undefined, kind: ColumnKind): string {
	if (value === null || value === undefined) return '';
	if (typeof value === 'number') return Number.isInteger(value) ? String(value) : formatNumber(value, 6);
	if (typeof value === 'boolean') return value ? 'true' : 'false';
	return kind === 'number' ? value : plainLabel(value, cellLength);
}

/** Maximum number of characters before a hit, so that the hit remains visible. */
const shownBefore = 48;

/** Formats a label, preserving leading and trailing spaces. */
function part(text: string): string {
	return plainLabel(`.${text.slice(0, cellLength)}.`, cellLength + 2).slice(1, -1);
}

function widthOf(texts: readonly string[], name: string, limit: number): number {
	const longest = Math.max(name.length + 2, ...texts.map((text) => text.length));
	return Math.round(Math.max(56, Math.min(limit, longest * characterWidth + cellPadding)));
}

export function columnsOfTable({ columns, rows }: Table): TableColumn[] {
	return columns.map(({ name, type }, i) => {
		const kind = kindOfType(type);
		const texts = rows.slice(0, sampled).map((row) => cellText(row[i], kind));
		return {
			name,
			title: `${plainLabel(name)}: ${plainLabel(type)}`,
			numeric: kind === 'number',
			width: widthOf(texts, name, 420),
			cell: (row) => {
				const value = rows[row]?.[i];
				const text = cellText(value, kind);
				const exact = typeof value === 'number' && String(value) !== text ? String(value) : null;
				const long = typeof value === 'string' && text.length > 24 ? plainLabel(value, titleLength) : null;
				const title = exact ?? long;
				return {
					text,
					...(title === null ? {} : { title }),
					...(value === null ? { parts: [element('span', { class: 'quiet' }, 'null')] } : {}),
				};
			},
		};
	});
}

export function columnsOfHits(hits: () => readonly TextHit[], runName: (folder: string) => string): TableColumn[] {
	const column = (
		name: string,
		title: string,
		width: number,
		text: (hit: TextHit) => string,
		numeric = true,
	): TableColumn => ({
		name,
		title,
		numeric,
		width,
		cell: (row) => {
			const hit = hits()[row];
			return { text: hit ? text(hit) : '' };
		},
	});
	return [
		column('run', 'Run', 150, (hit) => plainLabel(runName(hit.run), 60), false),
		column('split', 'Training or evaluation', 84, (hit) => hit.split, false),
		column('step', 'Optimizer step', 70, (hit) => (hit.stepless ? '' : String(hit.step))),
		column('group', 'Rollout group within the step', 70, (hit) => String(hit.group)),
		column('index', 'Rollout index within the group', 70, (hit) => String(hit.index)),
		column('found', 'Number of occurrences in the completion', 70, (hit) => String(hit.count)),
		{
			name: 'text',
			title: 'First occurrence',
			numeric: false,
			width: 560,
			cell: (row) => {
				const hit = hits()[row];
				if (!hit) return { text: '' };
				return {
					text: '',
					title: plainLabel(`${hit.before}${hit.match}${hit.after}`, titleLength),
					parts: [
						part(hit.before.length > shownBefore ? `\u2026${hit.before.slice(-shownBefore)}` : hit.before),
						element('mark', null, part(hit.match)),
						part(hit.after),
					],
				};
			},
		},
	];
}
