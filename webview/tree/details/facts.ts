import { type Child, element } from '../../lib/dom.ts';

/** Name, value and tooltip. Rows with a null value are omitted. */
export type Fact = readonly [name: string, value: Child, title?: string];

/** Builds a two-column list of names and values. */
export function facts(rows: readonly Fact[]): HTMLElement {
	return element(
		'dl',
		{ class: 'facts-list' },
		...rows
			.filter(([, value]) => value !== null && value !== undefined && value !== false && value !== '')
			.flatMap(([name, value, title]) => [
				element('dt', title === undefined ? null : { title }, name),
				element('dd', null, value),
			]),
	);
}

export function section(title: string, ...children: readonly Child[]): HTMLElement {
	return element('section', { class: 'detail-section' }, element('h2', null, title), ...children);
}

export function linkButton(label: string, run: () => void, title?: string): HTMLButtonElement {
	return element(
		'button',
		{
			class: 'link',
			attributes: { type: 'button' },
			...(title === undefined ? {} : { title }),
			on: { click: run },
		},
		label,
	);
}
