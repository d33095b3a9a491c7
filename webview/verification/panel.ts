import { type Child, element, uniqueId } from '../lib/dom.ts';

/** A part of the page with its heading, and what stands beside the heading. */
export function panel(title: string, beside: HTMLElement | null, ...children: readonly Child[]): HTMLElement {
	const id = uniqueId('panel');
	return element(
		'section',
		{ class: 'panel', aria: { labelledby: id } },
		element('div', { class: 'panel-head' }, element('h2', { id }, title), beside),
		...children,
	);
}
