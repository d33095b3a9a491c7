import { indexViews } from '../../src/protocol/indexViews.ts';
import { element } from '../lib/dom.ts';

/** Column names that are reserved in SQL. */
const reserved = new Set(['index', 'values', 'value']);

/** List of views and columns; clicking a name inserts it in the editor. */
export class SchemaView {
	readonly element: HTMLElement;

	constructor(insert: (text: string) => void) {
		const name = (text: string, title: string) => {
			const node = element(
				'button',
				{ class: 'schema-name', title, attributes: { type: 'button' }, aria: { label: `Insert ${text}` } },
				text,
			);
			// Preserve the editor's selection, because the name replaces it.
			node.addEventListener('mousedown', (event) => event.preventDefault());
			node.addEventListener('click', () => insert(reserved.has(text) ? `"${text}"` : text));
			return node;
		};
		this.element = element(
			'div',
			{ class: 'schema', role: 'group', aria: { label: 'Views and columns' } },
			...indexViews.map((view, i) => {
				const details = element(
					'details',
					null,
					element(
						'summary',
						{ title: `One row per ${view.rows.replace(/^an? /, '')}.` },
						element('span', { class: 'schema-view' }, view.name),
						element('span', { class: 'quiet' }, ` ${view.rows}`),
					),
					name(view.name, `One row per ${view.rows.replace(/^an? /, '')}.`),
					...view.columns.map((column) =>
						element(
							'div',
							{ class: 'schema-column' },
							name(column.name, `${column.type}: ${column.meaning}`),
							element('span', { class: 'schema-type quiet' }, column.type),
						),
					),
				);
				// Expand the view that is queried most often.
				details.open = i === 1;
				return details;
			}),
		);
	}
}
