import { presetNames } from '../../src/protocol/recipeKeys/recipe.ts';
import { button } from '../lib/controls.ts';
import { element, fill } from '../lib/dom.ts';
import { select } from '../lib/select.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { DatasetModel } from './datasetModel.ts';

const none = '\u0000';
const roles = ['prompt', 'answer', 'solution'] as const;
const titles = { prompt: 'Prompt', answer: 'Answer', solution: 'Solution' };
/** Display names for row formats. */
const readings: Readonly<Record<string, string>> = {
	gsm8k: 'GSM8K: answer after "####"',
	math: 'MATH: answer in \\boxed{}',
	aime: 'AIME',
	humaneval: 'HumanEval: scored by tests',
	mbpp: 'MBPP: scored by tests',
	countdown: 'Countdown: any expression that evaluates to the target',
};

/** Column mapping (prompt, answer, solution), held-out split, and the resulting dataset section of a recipe. */
export class ColumnsView {
	readonly element = element('div', { class: 'columns' });
	readonly #model: DatasetModel;
	#drawn = '';

	constructor(model: DatasetModel) {
		this.#model = model;
	}

	update(): void {
		const snapshot = this.#model.snapshot;
		if (snapshot === null) return;
		const { mapping, columns, because, format, statistics, usable } = snapshot;
		const key = JSON.stringify([mapping, columns.map(({ name }) => name), because, format, statistics?.share, usable]);
		if (key === this.#drawn) return;
		const focused = this.element.contains(document.activeElement)
			? document.activeElement?.getAttribute('aria-label')
			: null;
		this.#drawn = key;
		fill(
			this.element,
			...(format === 'task'
				? [element('p', { class: 'quiet' }, 'The task determines the prompt, answer and solution.')]
				: this.#mapping()),
			element(
				'div',
				{ class: 'actions' },
				this.#button('Use in Recipe\u2026', 'useInRecipe', usable),
				this.#button('Copy Recipe Snippet', 'copyRecipe', usable),
			),
		);
		if (focused) this.element.querySelector<HTMLElement>(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
	}

	#button(label: string, type: 'useInRecipe' | 'copyRecipe', enabled: boolean): HTMLElement {
		const control = button({
			label,
			appearance: type === 'useInRecipe' ? 'primary' : 'secondary',
			icon: type === 'useInRecipe' ? 'plus' : 'copy',
			onClick: () => this.#model.post({ type }),
		});
		control.setDisabled(!enabled);
		return control.element;
	}

	#mapping(): HTMLElement[] {
		const snapshot = this.#model.snapshot;
		if (snapshot === null) return [];
		const { mapping, columns, because } = snapshot;
		const fields = roles.map((role) => {
			const chooser = select(titles[role], (value) => {
				this.#model.post({ type: 'map', mapping: { ...mapping, [role]: value === none ? null : value } });
			});
			chooser.set(
				[
					{ value: none, label: 'None' },
					...columns
						.filter(({ computed }) => !computed)
						.map(({ name }) => ({ value: name, label: plainLabel(name, 80) })),
				],
				mapping[role] ?? none,
			);
			return element('label', { class: 'field-line' }, element('span', null, titles[role]), chooser.element);
		});
		const reading = select('Read as', (value) => {
			const preset = presetNames.find((name) => name === value) ?? null;
			this.#model.post({ type: 'map', mapping: { ...mapping, preset } });
		});
		reading.set(
			[
				{ value: none, label: 'Columns as is' },
				...presetNames.map((name) => ({ value: name, label: readings[name] ?? name })),
			],
			mapping.preset ?? none,
		);
		const share = element('input', {
			class: 'field',
			aria: { label: 'Held-out share' },
			attributes: { type: 'number', min: 0.001, max: 0.9, step: 0.01 },
		});
		share.value = String(snapshot.statistics?.share ?? 0.1);
		share.addEventListener('change', () => {
			const value = Number(share.value);
			const fits = value >= 0.001 && value <= 0.9;
			share.setAttribute('aria-invalid', String(!fits));
			if (fits) this.#model.post({ type: 'share', share: value });
		});
		return [
			...fields,
			element('label', { class: 'field-line' }, element('span', null, 'Read as'), reading.element),
			element('label', { class: 'field-line' }, element('span', null, 'Held-out share'), share),
			because.length === 0
				? element(
						'p',
						null,
						button({ label: 'Detect Again', onClick: () => this.#model.post({ type: 'map', mapping: null }) }).element,
					)
				: element(
						'ul',
						{ class: 'because quiet' },
						...because.map((words) => element('li', null, plainLabel(words, 300))),
					),
		];
	}
}
