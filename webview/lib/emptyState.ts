import { button } from './controls.ts';
import { element } from './dom.ts';

export interface EmptyState {
	readonly title: string;
	readonly text: string;
	/** What the user can do, most useful first. */
	readonly actions: readonly { readonly label: string; readonly run: () => void }[];
}

/** Creates an empty state that explains why there is nothing to show and what to do. */
export function emptyState({ title, text, actions }: EmptyState): HTMLElement {
	return element(
		'div',
		{ class: 'empty', role: 'status' },
		element('h2', null, title),
		element('p', null, text),
		element(
			'div',
			{ class: 'empty-actions' },
			...actions.map(
				({ label, run }, i) => button({ label, appearance: i === 0 ? 'primary' : 'secondary', onClick: run }).element,
			),
		),
	);
}
