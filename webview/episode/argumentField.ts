import type { FieldInput, FormField } from '../../src/core/episode/toolForm.ts';
import { element, setAria, setText, uniqueId } from '../lib/dom.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

const givenNames = { value: 'Value', null: 'null', omitted: 'Default' } as const;

/** Field for one argument of a tool. */
export class ArgumentField {
	readonly element: HTMLElement;
	readonly name: string;
	readonly #field: FormField;
	readonly #changed: (input: FieldInput) => void;
	readonly #control: Control;
	readonly #given: HTMLSelectElement | null;
	readonly #fault;
	#input: FieldInput;

	constructor(field: FormField, changed: (input: FieldInput) => void) {
		this.name = field.name;
		this.#field = field;
		this.#changed = changed;
		this.#input = field.initial;
		const id = uniqueId('argument');
		const label = plainLabel(field.name, 80);
		this.#fault = element('p', { class: 'problem', id: `${id}-fault`, role: 'alert' });
		this.#control = controlOf(field, id);
		setAria(this.#control, 'describedby', `${id}-fault ${id}-about`);
		this.#control.addEventListener('input', () => {
			this.setFault('');
			this.#set({ given: 'value', text: this.#control.value });
		});
		this.#given = givenOf(field, label);
		this.#given?.addEventListener('change', () => {
			this.setFault('');
			this.#set({ ...this.#input, given: this.#given?.value as FieldInput['given'] });
		});
		this.element = element(
			'div',
			{ class: `argument kind-${field.kind}` },
			element(
				'label',
				{ attributes: { for: id } },
				label,
				element('span', { class: 'quiet' }, ` ${plainLabel(field.type, 60)}`),
			),
			element('div', { class: 'argument-value' }, this.#given, this.#control),
			element('p', { class: 'quiet', id: `${id}-about` }, plainLabel(field.description, 400)),
			this.#fault,
		);
	}

	focus(): void {
		this.#control.focus();
	}

	setFault(words: string): void {
		setText(this.#fault, words);
		setAria(this.#control, 'invalid', words === '' ? null : true);
	}

	/** Shows the current values. Sets only values that differ, to avoid interfering with typing. */
	draw(input: FieldInput = this.#field.initial): void {
		this.#input = input;
		if (this.#control.value !== input.text) this.#control.value = input.text;
		this.#control.hidden = input.given !== 'value';
		if (this.#given !== null && this.#given.value !== input.given) this.#given.value = input.given;
	}

	#set(input: FieldInput): void {
		this.#input = input;
		this.#changed(input);
	}
}

function controlOf({ kind, choices, type }: FormField, id: string): Control {
	if (kind === 'choice' || kind === 'boolean') {
		const options =
			kind === 'boolean'
				? [
						['true', 'true'],
						['false', 'false'],
					]
				: choices.map((choice, i) => [String(i), choiceText(choice)]);
		return element(
			'select',
			{ class: 'select', id },
			...options.map(([value = '', words = '']) => element('option', { attributes: { value } }, words)),
		);
	}
	if (kind === 'integer' || kind === 'number') {
		return element('input', {
			class: 'field',
			id,
			attributes: { type: 'text', inputmode: 'decimal', autocomplete: 'off' },
		});
	}
	const rows = kind === 'json' ? 2 : 1;
	return element('textarea', {
		class: 'area',
		id,
		attributes: { rows, spellcheck: 'false', placeholder: kind === 'json' ? `JSON: ${type}` : '' },
	});
}

function choiceText(choice: unknown): string {
	return plainLabel(typeof choice === 'string' ? choice : JSON.stringify(choice), 100);
}

/** Returns the menu for an argument that can be omitted or set to null. */
function givenOf({ required, nullable }: FormField, label: string): HTMLSelectElement | null {
	if (required && !nullable) return null;
	const offered = (['value', 'null', 'omitted'] as const).filter(
		(given) => given === 'value' || (given === 'null' ? nullable : !required),
	);
	return element(
		'select',
		{ class: 'select given-choice', aria: { label: `${label}: value or none` } },
		...offered.map((given) => element('option', { attributes: { value: given } }, givenNames[given])),
	);
}
