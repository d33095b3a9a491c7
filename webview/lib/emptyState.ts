import { button } from './controls.ts';
import { element } from './dom.ts';

export interface EmptyState {
	readonly title: string;
	readonly text: string;
	readonly actions: readonly { readonly label: string; readonly run: () => void }[];
}

/** Creates an empty state that explains why there is nothing to show and what to do. */
export function emptyState({ title, text, actions }: EmptyState): HTMLElement {
	return element(
		'div',
		{ class: 'empty', role: 'status' },
		element('h2', null, title),
		element('p', null, text),
		...actions.map(({ label, run }) => button({ label, appearance: 'primary', onClick: run }).element),
	);
}
