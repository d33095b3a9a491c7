import { Disposable } from '../../src/base/disposable.ts';
import { firstUpper, formatCounted, formatNumber, formatPercent } from '../../src/base/format.ts';
import { behaviors } from '../../src/core/trace/behaviorNames.ts';
import { behaviorTitles } from '../../src/core/trace/behaviors.ts';
import type { BehaviorRow } from '../../src/protocol/explorerMessages.ts';
import type { ChartSpec } from '../lib/charts/chartSpec.ts';
import { ChartTable } from '../lib/charts/chartTable.ts';
import { Plot } from '../lib/charts/plot.ts';
import { PlotLink } from '../lib/charts/plotLink.ts';
import { button, dropdown } from '../lib/controls.ts';
import { element, fill, setAria, setText } from '../lib/dom.ts';
import { emptyState } from '../lib/emptyState.ts';
import { ThemeWatcher } from '../lib/theme.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { type BehaviorExample, BehaviorHistory, type BehaviorMeasure, spread } from './behaviorHistory.ts';
import type { RolloutsModel } from './rolloutsModel.ts';
import { ScanBar } from './scanBar.ts';
import type { ScanModel } from './scanModel.ts';

const examplesShown = 6;
const titles = behaviors.map((behavior) => (behaviorTitles[behavior].split(':')[0] ?? behavior) as string);

function specOf(measure: BehaviorMeasure): ChartSpec {
	return {
		id: 'behaviors',
		title: measure === 'share' ? 'Rollouts with behavior' : 'Occurrences per rollout',
		kind: 'lines',
		lines: behaviors.map((behavior, i) => ({
			metric: `${measure}.${behavior}`,
			label: titles[i] as string,
			color: i,
		})),
		bands: [],
		unit: measure === 'share' ? 'share' : 'number',
		unitLabel: '',
	};
}

/** Reasoning behaviors over training, with a curve, the first occurrence, and examples for each. */
export class BehaviorsView extends Disposable {
	readonly element = element('section', { class: 'behaviors-view', aria: { label: 'Behaviors over training' } });
	readonly #model: RolloutsModel;
	readonly #scan: ScanModel<BehaviorRow>;
	readonly #link = this.register(new PlotLink());
	readonly #theme = this.register(new ThemeWatcher());
	readonly #bar: ScanBar;
	readonly #plot: Plot;
	readonly #title = element('h2', { class: 'group-title' });
	readonly #legend = element('div', { class: 'chart-legend', role: 'group', aria: { label: 'Lines' } });
	readonly #table: ChartTable;
	readonly #timeline = element('div', { class: 'timeline' });
	readonly #empty = element('div');
	readonly #body: HTMLElement;
	readonly #hidden = new Set<string>();
	readonly #open = new Set<number>();
	#measure: BehaviorMeasure = 'share';
	#history = new BehaviorHistory([]);
	#rows: readonly BehaviorRow[] | null = null;
	#timer: ReturnType<typeof setTimeout> | undefined;

	constructor(model: RolloutsModel, scan: ScanModel<BehaviorRow>) {
		super();
		this.#model = model;
		this.#scan = scan;
		this.#bar = new ScanBar(scan, (all) => this.#start(all));
		const source = {
			column: (name: string) => this.#history.column(name),
			smoothed: (name: string) => this.#history.smoothed(name),
			gaps: () => this.#history.gaps(),
		};
		const view = this;
		this.#plot = this.register(
			new Plot(specOf(this.#measure), {
				link: this.#link,
				source: {
					...source,
					get length() {
						return view.#history.length;
					},
				},
				theme: () => this.#theme.theme,
				marks: () => [],
				onOpen: (row) => this.#openStep(row),
				describe: (row) => this.#describe(row),
			}),
		);
		this.register(this.#theme.onChange(() => this.#plot.rebuild()));
		this.register(this.#link.onCursorChange(() => this.#drawLegend()));
		const measure = dropdown({
			label: 'Measure',
			showLabel: true,
			choices: [
				{ value: 'share', label: 'Share of rollouts' },
				{ value: 'count', label: 'Occurrences per rollout' },
			],
			value: this.#measure,
			onChange: (value) => {
				this.#measure = value as BehaviorMeasure;
				this.#plot.setSpec(specOf(this.#measure));
				this.#applyHidden();
				this.#drawLegend();
				this.#fillTable();
			},
		});
		const table = button({
			label: 'Behavior table',
			title: 'Show as table',
			icon: 'table',
			appearance: 'icon',
			pressed: false,
			onClick: () => {
				const shown = this.#table.element.hidden;
				this.#table.element.hidden = !shown;
				table.setPressed(Boolean(shown));
				this.#fillTable();
			},
		});
		this.#table = new ChartTable('Behaviors', [
			{ label: 'Step', cell: (row) => String(this.#history.rows[row]?.step ?? '') },
			...titles.map((label, i) => ({ label, cell: (row: number) => this.#value(i, row) })),
			{ label: 'Rollouts', cell: (row) => String(this.#history.rows[row]?.rollouts ?? '') },
		]);
		this.#table.element.hidden = true;
		this.register({ dispose: () => this.#table.dispose() });
		this.register({ dispose: () => clearTimeout(this.#timer) });
		this.#body = element(
			'div',
			{ class: 'behaviors-body' },
			element('div', { class: 'behaviors-tools' }, this.#title, measure.element, table.element),
			this.#legend,
			this.#plot.element,
			this.#table.element,
			element('h2', { class: 'group-title' }, 'First seen'),
			this.#timeline,
			element(
				'p',
				{ class: 'quiet note' },
				'Counted from phrases such as "let me check", so this measures wording rather than actual reasoning. Compare only steps within a run.',
			),
		);
		fill(this.element, this.#bar.element, this.#body, this.#empty);
		// Limit redraws to a few per second, because a scan sends many rows per second. At the end, the examples are
		// drawn together with the final progress text.
		this.register(
			scan.onChange(() => {
				this.#bar.update();
				if (scan.running) this.#drawSoon();
				else this.#drawNow();
			}),
		);
	}

	#drawSoon(): void {
		this.#timer ??= setTimeout(() => this.#drawNow(), 150);
	}

	#drawNow(): void {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		// A click only works if its target is not replaced between press and release.
		if (this.#timeline.matches(':active')) this.#drawSoon();
		else this.#draw();
	}

	/** Scans the run unless this split has already been scanned. */
	update(): void {
		if (this.#scan.progress === null || this.#scan.key !== this.#model.split) this.#start(false);
		else this.#drawNow();
	}

	#start(all: boolean): void {
		const { split } = this.#model;
		this.#scan.start(split, (scan) => ({ type: 'scanBehaviors', scan, split, all }));
	}

	#draw(): void {
		const { rows, progress, running } = this.#scan;
		this.#bar.update();
		const failed = progress?.state === 'failed';
		const nothing = rows.length === 0 && progress !== null && !running;
		this.#body.hidden = nothing;
		fill(
			this.#empty,
			nothing &&
				emptyState({
					title: failed ? 'Cannot read steps' : 'No rollouts to analyze',
					text: failed ? (progress.failure?.toString() ?? '') : 'None of the steps has readable rollouts.',
					actions: [{ label: 'Retry', run: () => this.#start(false) }],
				}),
		);
		if (rows === this.#rows) {
			if (!running) this.#drawTimeline();
			return;
		}
		this.#rows = rows;
		this.#history = new BehaviorHistory(rows);
		this.#link.setRows(this.#history.steps, this.#history.steps);
		this.#applyHidden();
		this.#plot.update();
		this.#drawLegend();
		this.#fillTable();
		// During a scan, keep hovered or focused entries in place.
		if (!(running && this.#timeline.matches(':focus-within, :hover'))) this.#drawTimeline();
	}

	#applyHidden(): void {
		const hidden = new Set([...this.#hidden].map((behavior) => `${this.#measure}.${behavior}`));
		this.#plot.setSettings({ hidden, smoothing: false, log: false });
		setText(this.#title, specOf(this.#measure).title);
	}

	#value(behavior: number, row: number): string {
		const value = this.#history.column(`${this.#measure}.${behaviors[behavior]}`)?.[row];
		return this.#measure === 'share' ? formatPercent(value, 0) : formatNumber(value, 3);
	}

	#describe(row: number): string {
		const at = this.#history.rows[row];
		if (!at) return '';
		const step = firstUpper(this.#model.stepText(at.step, ': '));
		return `${step}${titles.map((title, i) => `${title} ${this.#value(i, row)}`).join(', ')}`;
	}

	#drawLegend(): void {
		const row = this.#link.cursor ?? this.#history.length - 1;
		const { theme } = this.#theme;
		const step = this.#history.rows[row]?.step;
		const buttons = behaviors.map((behavior, i) => {
			const swatch = element('span', { class: 'line-swatch', aria: { hidden: true } });
			swatch.style.background = theme.series[i] ?? '';
			const node = element(
				'button',
				{ class: 'chip toggle', attributes: { type: 'button' }, title: behaviorTitles[behavior] },
				swatch,
				titles[i],
				' ',
				element('span', { class: 'quiet' }, this.#value(i, row)),
			);
			setAria(node, 'pressed', !this.#hidden.has(behavior));
			node.addEventListener('click', () => {
				if (!this.#hidden.delete(behavior)) this.#hidden.add(behavior);
				this.#applyHidden();
				this.#drawLegend();
				this.#legend.querySelectorAll<HTMLElement>('button')[i]?.focus();
			});
			return node;
		});
		fill(
			this.#legend,
			...buttons,
			step !== undefined && element('span', { class: 'quiet' }, this.#model.stepText(step)),
		);
	}

	#fillTable(): void {
		if (this.#table.element.hidden) return;
		this.#table.setRows(Int32Array.from({ length: this.#history.length }, (_, i) => i));
	}

	#openStep(row: number): void {
		const step = this.#history.rows[row]?.step;
		if (step !== undefined) this.#model.show({ split: this.#model.split, step, group: null, index: null });
	}

	#drawTimeline(): void {
		const all = this.#scan.progress?.state === 'complete';
		const order = behaviors.map((_, i) => ({ i, examples: this.#history.examples(i) }));
		order.sort((a, b) => (a.examples[0]?.step ?? Infinity) - (b.examples[0]?.step ?? Infinity) || a.i - b.i);
		fill(
			this.#timeline,
			...order.map(({ i, examples }) => {
				const [first] = examples;
				const change = this.#history.change(i);
				const open = this.#open.has(i);
				const more = spread(examples.slice(1), examplesShown);
				return element(
					'section',
					{ class: 'moment', aria: { label: titles[i] as string } },
					element(
						'div',
						{ class: 'moment-head' },
						element('strong', null, titles[i]),
						first
							? element('span', null, this.#model.stepText(first.step))
							: element('span', { class: 'quiet' }, all ? 'not seen' : 'not seen so far'),
						change !== null &&
							first !== undefined &&
							element(
								'span',
								{
									class: 'quiet',
									title: 'Percentage of rollouts in the first and last tenth of the steps',
								},
								`${formatPercent(change.first, 0)} → ${formatPercent(change.last, 0)} of rollouts`,
							),
					),
					first !== undefined && this.#example(first),
					more.length > 0 && this.#more(i, more.length, open),
					...(open ? more.map((example) => this.#example(example)) : []),
				);
			}),
		);
	}

	#more(behavior: number, count: number, open: boolean): HTMLElement {
		const node = element(
			'button',
			{ class: 'link', attributes: { type: 'button' }, aria: { expanded: open }, data: { more: behavior } },
			open ? 'Fewer examples' : `${formatCounted(count, 'more example')} over training`,
		);
		node.addEventListener('click', () => {
			if (!this.#open.delete(behavior)) this.#open.add(behavior);
			this.#drawTimeline();
			this.#timeline.querySelector<HTMLElement>(`[data-more="${behavior}"]`)?.focus();
		});
		return node;
	}

	#example({ step, group, index, before, match, after }: BehaviorExample): HTMLElement {
		const node = element(
			'button',
			{
				class: 'example',
				attributes: { type: 'button' },
				title: `Open completion ${index} of ${this.#model.placeText({ step, group })}`,
			},
			element(
				'span',
				{ class: 'quiet example-place' },
				`${this.#model.stepText(step, ' · ')}group ${group} · #${index}`,
			),
			element(
				'span',
				{ class: 'example-text' },
				plainLabel(before, 200),
				/\s$/.test(before) ? ' ' : '',
				element('mark', null, plainLabel(match, 80)),
				/^\s/.test(after) ? ' ' : '',
				plainLabel(after, 200),
			),
		);
		node.addEventListener('click', () => this.#model.show({ split: this.#model.split, step, group, index }));
		return node;
	}
}
