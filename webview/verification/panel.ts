import { type Child, element, uniqueId } from '../lib/dom.ts';

/** Page section with a heading and optional content next to it. */
export function panel(title: string, beside: HTMLElement | null, ...children: readonly Child[]): HTMLElement {
	const id = uniqueId('panel');
	return element(
		'section',
		{ class: 'panel', aria: { labelledby: id } },
		element('div', { class: 'panel-head' }, element('h2', { id }, title), beside),
		...children,
	);
}
