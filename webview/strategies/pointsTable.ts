import { formatCount, formatNumber, formatPercent } from '../../src/base/format.ts';
import type { Interval, PointSummary } from '../../src/protocol/strategyComparison.ts';
import { element, fill } from '../lib/dom.ts';
import { rowHead, staticTable, tableBox } from '../lib/staticTable.ts';
import type { ThemeWatcher } from '../lib/theme.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { markSample } from './marks.ts';
import { type StrategiesModel, styleOf } from './strategiesModel.ts';

const share = (value: number) => formatPercent(value, 1);
const signed = (value: number) => `${value < 0 ? '−' : '+'}${(Math.abs(value) * 100).toFixed(1)}`;
const range = ({ low, high }: Interval) => `${share(low)} to ${share(high)}`;

interface Column {
	readonly key: string;
	readonly label: string;
	readonly title: string;
	readonly text: (point: PointSummary, model: StrategiesModel) => string;
	/** Returns the sort key. null sorts last. */
	readonly value: (point: PointSummary, model: StrategiesModel) => number | string | null;
}

const columns: readonly Column[] = [
	{
		key: 'accuracy',
		label: 'Accuracy',
		title: 'Percentage of problems solved, with 95% confidence interval',
		text: (point, model) => {
			const { accuracy } = model.shown(point);
			return accuracy === null ? '–' : `${share(accuracy.mean)} (${range(accuracy)})`;
		},
		value: (point, model) => model.shown(point).accuracy?.mean ?? null,
	},
	{
		key: 'gain',
		label: 'Gain',
		title:
			'Gain over the mean of the independent samples on the same problems, in percentage points, with 95% confidence interval',
		text: (point, model) => {
			const { gain } = model.shown(point);
			return gain === null ? '' : `${signed(gain.mean)} (${signed(gain.low)} to ${signed(gain.high)})`;
		},
		value: (point, model) => model.shown(point).gain?.mean ?? null,
	},
	{
		key: 'any',
		label: 'Any correct',
		title:
			'Percentage of problems where any completion is correct, whether selected or not (upper bound for selection)',
		text: ({ any }) => (any === null ? '' : share(any)),
		value: ({ any }) => any,
	},
	{
		key: 'tokens',
		label: 'Tokens',
		title: 'Mean generated tokens per problem',
		text: ({ tokens }) => formatCount(tokens === null ? null : Math.round(tokens)),
		value: ({ tokens }) => tokens,
	},
	{
		key: 'seconds',
		label: 'Seconds',
		title: 'Mean time per search while others run concurrently (– if not measured)',
		text: ({ seconds }) => (seconds === null ? '–' : formatNumber(seconds, 3)),
		value: ({ seconds }) => seconds,
	},
	{
		key: 'problems',
		label: 'Problems',
		title: 'Number of problems counted. Excludes failed problems and those without a gold answer or reward.',
		text: (point, model) => {
			const { problems } = model.shown(point);
			const failed = point.failed > 0 ? `, ${formatCount(point.failed)} failed` : '';
			const open = point.unjudged > 0 ? `, ${formatCount(point.unjudged)} not scored` : '';
			return `${formatCount(problems)}${model.state.band === null ? failed + open : ''}`;
		},
		value: (point, model) => model.shown(point).problems,
	},
];

/** Sortable table of all points. Each row has a button that lists its searches. */
export class PointsTable {
	readonly element = tableBox('Points, table');
	readonly #model: StrategiesModel;
	readonly #themes: ThemeWatcher;

	constructor(model: StrategiesModel, themes: ThemeWatcher) {
		this.#model = model;
		this.#themes = themes;
	}

	draw(): void {
		const focused = (document.activeElement as HTMLElement | null)?.dataset.focus;
		fill(
			this.element,
			staticTable('', {
				head: [this.#head('name', 'Strategy', ''), ...columns.map((one) => this.#head(one.key, one.label, one.title))],
				rows: this.#sorted().map((point) => this.#row(point)),
			}),
		);
		if (focused !== undefined && document.activeElement === document.body) {
			this.element.querySelector<HTMLElement>(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
		}
	}

	#head(key: string, label: string, title: string): HTMLElement {
		const { by, down } = this.#model.state.sort;
		const sorted = by === key;
		return element(
			'th',
			{ attributes: { scope: 'col' }, aria: { sort: sorted ? (down ? 'descending' : 'ascending') : 'none' } },
			element(
				'button',
				{
					class: 'sort',
					title,
					attributes: { type: 'button' },
					data: { focus: `sort-${key}` },
					on: { click: () => this.#sort(key) },
				},
				label,
				element('span', { class: 'arrow', aria: { hidden: true } }, sorted ? (down ? ' ▾' : ' ▴') : ''),
			),
		);
	}

	/** Cycles through ascending, descending and unsorted. */
	#sort(key: string): void {
		const { by, down } = this.#model.state.sort;
		const first = key !== 'name';
		if (by !== key) this.#model.look({ sort: { by: key, down: first } });
		else if (down === first) this.#model.look({ sort: { by: key, down: !first } });
		else this.#model.look({ sort: { by: '', down: false } });
	}

	#sorted(): readonly PointSummary[] {
		const { points, state } = this.#model;
		const { by, down } = state.sort;
		const column = columns.find(({ key }) => key === by);
		const value = (point: PointSummary) =>
			by === 'name' ? `${point.name} ${point.label}` : (column?.value(point, this.#model) ?? null);
		if (by !== 'name' && column === undefined) return points;
		return points.toSorted((a, b) => {
			const [x, y] = [value(a), value(b)];
			if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
			const order = typeof x === 'string' ? x.localeCompare(String(y), undefined, { numeric: true }) : x - Number(y);
			return down ? -order : order;
		});
	}

	#row(point: PointSummary): HTMLElement {
		const { points, selected } = this.#model;
		const chosen = point.id === selected;
		return element(
			'tr',
			{ class: chosen ? 'chosen' : '' },
			rowHead(
				element(
					'button',
					{
						class: 'link point-name',
						attributes: { type: 'button' },
						title: 'List searches',
						aria: { pressed: chosen },
						data: { focus: `point-${point.id}` },
						on: { click: () => this.#model.select(chosen ? null : point.id) },
					},
					markSample(this.#themes.theme, styleOf(points, point), point.oracle),
					element('span', null, plainLabel(point.name, 80), ' '),
					element('span', { class: 'quiet' }, plainLabel(point.label, 120)),
				),
				point.oracle ? element('span', { class: 'badge warning' }, 'oracle upper bound') : null,
				point.shared
					? element(
							'span',
							{ class: 'badge', title: 'Computed from the independent samples rather than from separate searches' },
							'shared samples',
						)
					: null,
			),
			...columns.map((column) => element('td', null, column.text(point, this.#model))),
		);
	}
}
