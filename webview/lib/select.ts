import { element, fill } from './dom.ts';

export interface SelectChoice {
	readonly value: string;
	readonly label: string;
	/** Tooltip. */
	readonly title?: string;
}

export interface Select {
	readonly element: HTMLSelectElement;
	set(choices: readonly SelectChoice[], value: string): void;
}

/** Creates a native select, whose list is never clipped by surrounding elements. */
export function select(label: string, onChange: (value: string) => void): Select {
	const node = element('select', { class: 'select', aria: { label } });
	let key = '';
	node.addEventListener('change', () => onChange(node.value));
	return {
		element: node,
		set: (choices, value) => {
			// Also show a value that is not among the choices.
			const all = choices.some((choice) => choice.value === value) ? choices : [{ value, label: value }, ...choices];
			const next = JSON.stringify(all);
			if (next !== key) {
				fill(
					node,
					...all.map(({ value: id, label: words, title }) =>
						element('option', { attributes: { value: id }, ...(title === undefined ? {} : { title }) }, words),
					),
				);
			}
			key = next;
			if (node.value !== value) node.value = value;
		},
	};
}
