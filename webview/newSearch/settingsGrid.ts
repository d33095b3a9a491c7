import { paramFields, textOfValue } from '../../src/core/search/paramFields.ts';
import { element, fill } from '../lib/dom.ts';
import { select } from '../lib/select.ts';
import type { SettingGroup } from './enteredSettings.ts';
import type { NewSearchModel } from './newSearchModel.ts';

interface Setting {
	readonly group: SettingGroup;
	readonly name: string;
	readonly description: string;
	readonly standard: string;
	readonly options: readonly string[] | null;
}

const shared: readonly Setting[] = [
	of('sampling', 'temperature', 'Sampling temperature; 0 is greedy', '1'),
	of('sampling', 'topP', 'Nucleus sampling: probability mass to sample from', '1'),
	of('sampling', 'maxStepTokens', 'Max tokens per step', '256'),
	of(
		'sampling',
		'maxTokens',
		'Max tokens per completion; automatic uses as many as the context allows, up to 4,096',
		'automatic',
	),
	of('sampling', 'tokens', 'Data per token: 0 none, 1 log-probability and entropy, N > 1 also N alternatives', '0'),
	of('search', 'seed', 'Random seed', '0'),
	of('search', 'concurrency', 'Concurrent requests to the policy', '8'),
];

function of(group: SettingGroup, name: string, description: string, standard: string): Setting {
	return { group, name, description, standard, options: null };
}

/**
 * Parameters of the selected strategy and sampling settings. An empty field means the default, which it shows as a
 * placeholder.
 */
export class SettingsGrid {
	readonly element = element('div', { class: 'settings' });
	readonly #model: NewSearchModel;
	readonly #drawers: (() => void)[] = [];
	#strategy = '';

	constructor(model: NewSearchModel) {
		this.#model = model;
	}

	draw(): void {
		const { strategy } = this.#model;
		if (strategy.name !== this.#strategy) {
			this.#strategy = strategy.name;
			this.#drawers.length = 0;
			const own = paramFields(strategy).map(
				({ name, description, standard, options }): Setting => ({
					...{ group: 'params', name, description, options },
					standard: textOfValue(standard),
				}),
			);
			fill(
				this.element,
				...own.map((setting) => this.#field(setting)),
				element('h2', { class: 'settings-head' }, 'Sampling'),
				...shared.map((setting) => this.#field(setting)),
			);
		}
		for (const draw of this.#drawers) draw();
	}

	#field({ group, name, description, standard, options }: Setting): HTMLElement {
		const model = this.#model;
		const row = (control: HTMLElement) =>
			element(
				'label',
				{ class: 'setting' },
				element('span', { class: 'setting-name' }, name),
				control,
				element('span', { class: 'quiet' }, description),
			);
		if (options !== null) {
			const control = select(name, (value) => model.typeSetting(group, name, value === standard ? '' : value));
			this.#drawers.push(() =>
				control.set(
					options.map((value) => ({ value, label: value })),
					model.textOf(group, name) || standard,
				),
			);
			return row(control.element);
		}
		const input = element('input', {
			class: 'field',
			aria: { label: name },
			attributes: { type: 'text', placeholder: standard, spellcheck: 'false' },
		});
		input.addEventListener('input', () => model.typeSetting(group, name, input.value));
		this.#drawers.push(() => {
			const text = model.textOf(group, name);
			if (input.value !== text) input.value = text;
		});
		return row(input);
	}
}
