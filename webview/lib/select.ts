import { element, fill } from './dom.ts';
import { visibleText } from './trace/hiddenCharacters.ts';

export interface SelectChoice {
	readonly value: string;
	readonly label: string;
	/** Tooltip. */
	readonly title?: string;
	/** Heading for a group of consecutive choices. */
	readonly group?: string;
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
				fill(node, ...options(all));
			}
			key = next;
			if (node.value !== value) node.value = value;
		},
	};
}

/** Returns the options, grouped below their headings. */
function options(choices: readonly SelectChoice[]): HTMLElement[] {
	const found: HTMLElement[] = [];
	let heading = null as { readonly name: string; readonly node: HTMLElement } | null;
	for (const { value, label, title, group } of choices) {
		const option = element('option', { attributes: { value }, ...(title === undefined ? {} : { title }) }, label);
		if (group === undefined) {
			heading = null;
			found.push(option);
			continue;
		}
		if (heading?.name !== group) {
			heading = { name: group, node: element('optgroup', { attributes: { label: visibleText(group) } }) };
			found.push(heading.node);
		}
		heading.node.append(option);
	}
	return found;
}
