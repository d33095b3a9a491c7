import { Disposable } from '../../src/base/disposable.ts';
import { formatCount, formatCounted } from '../../src/base/format.ts';
import type { RecipesResult } from '../../src/protocol/runComparisonMessages.ts';
import { button, textField } from '../lib/controls.ts';
import { type DataCell, type DataColumn, type DataRow, DataTable } from '../lib/dataTable.ts';
import { element, fill } from '../lib/dom.ts';
import { emptyState } from '../lib/emptyState.ts';
import type { ThemeWatcher } from '../lib/theme.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { ComparisonModel } from './comparisonModel.ts';
import { lineSample } from './lineStyles.ts';

/** Table of the keys that differ between the resolved recipes. */
export class RecipesView extends Disposable {
	readonly element = element('div', { class: 'recipes' });
	readonly #model: ComparisonModel;
	readonly #themes: ThemeWatcher;
	readonly #table: DataTable;
	readonly #box = element('div', { class: 'recipe-table' });
	#rowOf: (index: number) => DataRow | undefined = () => undefined;
	/** Column widths set by the user, keyed by run. */
	readonly #widths = new Map<string, number>();
	#result: RecipesResult | null = null;
	#failure: string | null = null;
	#filter = '';

	constructor(model: ComparisonModel, themes: ThemeWatcher) {
		super();
		this.#model = model;
		this.#themes = themes;
		this.#table = this.register(
			new DataTable({
				label: 'Changed keys',
				numberHead: 'Key',
				numberWidth: 280,
				row: (index) => this.#rowOf(index),
				onOpen: () => undefined,
				opensOn: 'number',
				onResize: (run, width) => this.#widths.set(run, width),
			}),
		);
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
					text: `${without === '' ? 'The runs' : without} ${result.without.length === 1 ? 'has' : 'have'} no recipe. Only the built-in engines save resolved recipes.`,
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
					(result.cut > 0 ? ` ${formatCounted(result.cut, 'more key was', 'more keys were')} not compared.` : ''),
			),
			this.#box,
		);
		this.#drawTable(result, withRecipe, base);
	}

	#drawTable({ changed }: RecipesResult, withRecipe: readonly number[], base: number): void {
		const { runs } = this.#model;
		const wanted = this.#filter.trim().toLowerCase();
		const rows = changed.filter(({ key }) => key.toLowerCase().includes(wanted));
		this.#rowOf = (index) => rowOf(rows[index], withRecipe, base);
		if (rows.length === 0) {
			const none =
				changed.length === 0 ? 'The recipes are identical.' : `No key contains "${plainLabel(this.#filter, 60)}".`;
			fill(this.#box, element('p', { class: 'quiet' }, none));
			return;
		}
		const columns = withRecipe.map((run): DataColumn => {
			const label = plainLabel(runs[run]?.name ?? '', 60);
			const name = String(run);
			const mark = lineSample(run, this.#themes.theme);
			return { name, label, title: label, mark, numeric: false, width: this.#widths.get(name) ?? 220 };
		});
		this.#table.setColumns(columns, null);
		if (!this.#table.element.isConnected) fill(this.#box, this.#table.element);
		this.#box.style.setProperty('--rows', String(rows.length));
		this.#table.setRows(rows.length);
	}
}

/** Returns a row with a key and its value in each run; values that differ from the baseline's are marked. */
function rowOf(
	row: RecipesResult['changed'][number] | undefined,
	withRecipe: readonly number[],
	base: number,
): DataRow | undefined {
	if (row === undefined) return undefined;
	const { key, values } = row;
	return {
		number: [element('span', { class: 'key', title: plainLabel(key, 300) }, plainLabel(key, 300))],
		opens: false,
		cells: withRecipe.map((run): DataCell => {
			const value = values[run] ?? null;
			const differs = run !== base && value !== values[base];
			const text = value === null ? 'not set' : plainLabel(value, 500);
			const words = element('span', { class: value === null ? 'quiet' : '' }, text);
			const mark = differs && element('span', { class: 'visually-hidden' }, ' (differs)');
			const parts = [element('span', { class: differs ? 'recipe-value differs' : 'recipe-value' }, words, mark)];
			return { text, title: text, parts };
		}),
	};
}
