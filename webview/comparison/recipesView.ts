import { formatCount, formatCounted } from '../../src/base/format.ts';
import type { RecipesResult } from '../../src/protocol/runComparisonMessages.ts';
import { button, textField } from '../lib/controls.ts';
import { element, fill } from '../lib/dom.ts';
import { emptyState } from '../lib/emptyState.ts';
import type { ThemeWatcher } from '../lib/theme.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { ComparisonModel } from './comparisonModel.ts';
import { lineSample } from './lineStyles.ts';

const shown = 1000;

/** Table of the keys that differ between the resolved recipes. */
export class RecipesView {
	readonly element = element('div', { class: 'recipes' });
	readonly #model: ComparisonModel;
	readonly #themes: ThemeWatcher;
	readonly #table = element('div', {
		class: 'table-scroll',
		role: 'region',
		tabIndex: 0,
		aria: { label: 'Changed keys table' },
	});
	#result: RecipesResult | null = null;
	#failure: string | null = null;
	#filter = '';

	constructor(model: ComparisonModel, themes: ThemeWatcher) {
		this.#model = model;
		this.#themes = themes;
	}

	async load(): Promise<void> {
		this.draw();
		try {
			this.#result = await this.#model.host.request('recipes', {});
			this.#failure = null;
		} catch (error) {
			this.#failure = String(error);
		}
		this.draw();
	}

	draw(): void {
		const { runs } = this.#model;
		const result = this.#result;
		if (result === null) {
			fill(
				this.element,
				this.#failure === null
					? element('p', { class: 'quiet', role: 'status' }, 'Loading recipes…')
					: element('p', { role: 'alert' }, plainLabel(this.#failure, 600)),
			);
			return;
		}
		const name = (run: number): string => plainLabel(runs[run]?.name ?? '', 60);
		const withRecipe = runs.map((_, i) => i).filter((i) => !result.without.includes(i));
		const without = result.without.map(name).join(', ');
		if (withRecipe.length < 2) {
			fill(
				this.element,
				emptyState({
					title: 'Not enough recipes to compare',
					text: `${without === '' ? 'The runs' : without} ${result.without.length === 1 ? 'has' : 'have'} no recipe. Only runs from the built-in engines save their resolved recipe.`,
					actions: [{ label: 'Select Runs', run: () => this.#model.host.post({ type: 'choose' }) }],
				}),
			);
			return;
		}
		const base = withRecipe.includes(this.#model.baseline) ? this.#model.baseline : (withRecipe[0] as number);
		const diffs = withRecipe
			.filter((run) => run !== base)
			.map(
				(run) =>
					button({
						label: withRecipe.length === 2 ? 'Open in Diff Editor' : `Diff ${name(base)} ↔ ${name(run)}`,
						icon: 'open',
						onClick: () =>
							void this.#model.host.request('openRecipes', { first: base, second: run }).catch((error: unknown) => {
								this.#failure = String(error);
								this.draw();
							}),
					}).element,
			);
		const filter = textField({
			label: 'Filter keys',
			placeholder: 'Filter keys',
			icon: 'filter',
			value: this.#filter,
			onInput: (value) => {
				this.#filter = value;
				this.#drawTable(result, withRecipe, base);
			},
		});
		fill(
			this.element,
			element('div', { class: 'toolbar' }, filter.element, ...diffs),
			this.#failure !== null && element('p', { role: 'alert' }, plainLabel(this.#failure, 600)),
			element(
				'p',
				{ class: 'quiet' },
				`${formatCounted(result.changed.length, 'key')} changed, ${formatCount(result.same)} identical.` +
					(without === '' ? '' : ` Without a recipe: ${without}.`) +
					(result.cut > 0 ? ` ${formatCount(result.cut)} more keys were not compared.` : ''),
			),
			this.#table,
		);
		this.#drawTable(result, withRecipe, base);
	}

	#drawTable({ changed }: RecipesResult, withRecipe: readonly number[], base: number): void {
		const { runs } = this.#model;
		const wanted = this.#filter.trim().toLowerCase();
		const rows = changed.filter(({ key }) => key.toLowerCase().includes(wanted));
		if (rows.length === 0) {
			fill(
				this.#table,
				element(
					'p',
					{ class: 'quiet' },
					changed.length === 0 ? 'The recipes are identical.' : `No key contains "${plainLabel(this.#filter, 60)}".`,
				),
			);
			return;
		}
		fill(
			this.#table,
			element(
				'table',
				null,
				element(
					'thead',
					null,
					element(
						'tr',
						null,
						element('th', { attributes: { scope: 'col' } }, 'Key'),
						...withRecipe.map((run) =>
							element(
								'th',
								{ attributes: { scope: 'col' } },
								element(
									'span',
									{ class: 'run-cell' },
									lineSample(run, this.#themes.theme),
									element('span', null, plainLabel(runs[run]?.name ?? '', 60)),
								),
							),
						),
					),
				),
				element(
					'tbody',
					null,
					...rows.slice(0, shown).map(({ key, values }) =>
						element(
							'tr',
							null,
							element('th', { class: 'key', attributes: { scope: 'row' } }, plainLabel(key, 300)),
							...withRecipe.map((run) => {
								const value = values[run] ?? null;
								const differs = run !== base && value !== values[base];
								return element(
									'td',
									{ class: differs ? 'recipe-value differs' : 'recipe-value' },
									value === null ? element('span', { class: 'quiet' }, 'not set') : plainLabel(value, 500),
									differs && element('span', { class: 'visually-hidden' }, ' (differs)'),
								);
							}),
						),
					),
				),
			),
			rows.length > shown && element('p', { class: 'quiet' }, `and ${formatCount(rows.length - shown)} more`),
		);
	}
}
