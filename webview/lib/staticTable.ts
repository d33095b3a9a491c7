import { type Child, element } from './dom.ts';

export interface StaticTable {
	/** Description for screen readers. */
	readonly caption?: string;
	/** Column headers: strings or cells. null is an empty corner. Without headers, the table has only rows. */
	readonly head?: readonly (HTMLElement | string | null)[];
	readonly rows: readonly (HTMLElement | null)[];
}

/** Creates a table that draws all of its rows. {@link DataTable} draws only the visible ones. */
export function staticTable(className: string, content: StaticTable): HTMLTableElement {
	return element('table', { class: className }, ...tableParts(content));
}

/** Returns the content of a table element. */
export function tableParts({ caption, head, rows }: StaticTable): Child[] {
	return [
		caption !== undefined && element('caption', { class: 'visually-hidden' }, caption),
		head !== undefined &&
			element('thead', null, element('tr', null, ...head.map((cell) => (isCell(cell) ? cell : columnHead(cell))))),
		element('tbody', null, ...rows),
	];
}

const isCell = (cell: HTMLElement | string | null): cell is HTMLElement => cell !== null && typeof cell !== 'string';

/** Creates the header cell for a column, or an empty corner cell. */
export function columnHead(text: string | null, className = ''): HTMLElement {
	return text === null ? element('td') : element('th', { attributes: { scope: 'col' }, class: className }, text);
}

/** Creates the header cell for a row. */
export function rowHead(...content: readonly Child[]): HTMLElement {
	return element('th', { attributes: { scope: 'row' } }, ...content);
}

/** Creates a cell with a right-aligned number. */
export function numberCell(text: string): HTMLElement {
	return element('td', { class: 'number' }, text);
}

/** Creates a container that scrolls a wide table horizontally. */
export function tableBox(label: string, ...content: readonly Child[]): HTMLElement {
	return element('div', { class: 'table-scroll', role: 'region', tabIndex: 0, aria: { label } }, ...content);
}
