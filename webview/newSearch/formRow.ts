import { type Child, element, uniqueId } from '../lib/dom.ts';

/** Creates a row with a label for its field. */
export function row(label: string, field: HTMLElement, ...notes: readonly Child[]): HTMLElement {
	const control = field.matches('input, select, textarea') ? field : field.querySelector<HTMLElement>('select, input');
	const id = uniqueId('field');
	if (control !== null) control.id = id;
	return element(
		'div',
		{ class: 'form-row' },
		element('label', { class: 'row-label', attributes: { for: id } }, label),
		element('div', { class: 'row-field' }, field, ...notes),
	);
}
