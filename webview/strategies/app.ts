import { Disposable } from '../../src/base/disposable.ts';
import { formatCount, formatCounted, formatDuration, formatPercent } from '../../src/base/format.ts';
import type { ComparisonSummary, PointSummary } from '../../src/protocol/strategyComparison.ts';
import { LiveRegion } from '../lib/a11y.ts';
import { button, dropdown } from '../lib/controls.ts';
import { element, fill } from '../lib/dom.ts';
import { emptyState } from '../lib/emptyState.ts';
import { ThemeWatcher } from '../lib/theme.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { IntervalPlot, type PlotLine } from './intervalPlot.ts';
import { markSample } from './marks.ts';
import { PointsTable } from './pointsTable.ts';
import { SearchList } from './searchList.ts';
import { type StrategiesModel, styleOf } from './strategiesModel.ts';

const states: Readonly<Record<ComparisonSummary['state'], string>> = {
	running: 'Running',
	ended: 'Done',
	stopped: 'Stopped',
	failed: 'Failed',
};
/** State of a comparison that is done but has failed searches. */
const partial = 'Incomplete';
const share = (value: number) => formatPercent(value);
const oracleNotes = {
	answers:
		'Oracle upper bounds use the gold answer. They show the effect of perfect selection and are not achievable in practice.',
	episodes:
		'Oracle upper bounds use the environment’s reward. They are achievable only where the reward is known at inference time.',
} as const;

/** Strategy comparison view: progress, plot, table, and searches for the selected point. */
export class App extends Disposable {
	readonly #root: HTMLElement;
	readonly #model: StrategiesModel;
	readonly #themes = this.register(new ThemeWatcher());
	readonly #live = this.register(new LiveRegion());
	readonly #plot: IntervalPlot;
	readonly #table: PointsTable;
	readonly #searches: SearchList;
	readonly #header = element('header', { class: 'page-head' });
	readonly #controls = element('div', { class: 'toolbar' });
	readonly #legend = element('ul', { class: 'legend', aria: { label: 'Plot legend' } });
	readonly #notes = element('div', { class: 'notes quiet' });
	readonly #page: readonly HTMLElement[];
	#controlsOf = '';
	#headerOf = '';
	#state: string | null = null;

	constructor(root: HTMLElement, model: StrategiesModel) {
		super();
		this.#root = root;
		this.#model = model;
		this.#plot = new IntervalPlot((id) => this.#choose(id));
		this.#table = new PointsTable(model, this.#themes);
		this.#searches = new SearchList(model);
		this.#page = [
			this.#header,
			element(
				'div',
				{ class: 'body' },
				this.#controls,
				this.#plot.element,
				this.#legend,
				this.#table.element,
				this.#searches.element,
				this.#notes,
			),
			this.#live.element,
		];
		this.register(model.onChange(() => this.#draw()));
		this.register(this.#themes.onChange(() => this.#draw()));
	}

	/** Selects a point in the plot. Points on curves have no searches behind them, only samples. */
	#choose(id: string): void {
		const point = this.#model.points.find((one) => one.id === id);
		this.#model.select(point === undefined ? 'samples' : this.#model.selected === id ? null : id);
	}

	#draw(): void {
		const { summaryEvent, failure } = this.#model;
		if (failure !== null && summaryEvent === null) {
			fill(
				this.#root,
				element('h1', { class: 'visually-hidden' }, 'Strategy comparison'),
				emptyState({
					title: 'No comparison to show',
					text: plainLabel(`${failure.message} ${failure.action ?? ''}`, 600),
					actions: [{ label: 'Compare Strategies...', run: () => this.#model.host.post({ type: 'choose' }) }],
				}),
			);
			return;
		}
		if (summaryEvent === null) return;
		if (!this.#header.isConnected) fill(this.#root, ...this.#page);
		this.#drawHeader();
		this.#drawControls();
		const { points } = this.#model;
		const known = points.some((point) => point.accuracy !== null);
		this.#plot.element.hidden = !known;
		if (known) this.#drawPlot();
		else fill(this.#legend, element('li', { class: 'quiet' }, this.#absence(summaryEvent.summary)));
		this.#table.draw();
		this.#searches.show(points.find(({ id }) => id === this.#model.selected) ?? null);
		this.#drawNotes();
	}

	/** Returns why there is no plot. */
	#absence({ state, points, environment }: ComparisonSummary): string {
		if (state === 'running' || (state === 'stopped' && this.#model.failed === 0)) return 'No results yet.';
		if (points.some(({ unjudged }) => unjudged > 0))
			return environment === undefined
				? 'Accuracy is not available because the problems have no gold answers.'
				: 'Accuracy is not available because the episodes have no reward.';
		return 'No results: all searches failed.';
	}

	#drawHeader(): void {
		const { summaryEvent, host, failure } = this.#model;
		if (summaryEvent === null) return;
		const { summary, running, canGoOn, folder } = summaryEvent;
		const { done, total, state, message, problems, samples, tokens, seconds, policy, name, failures, environment } =
			summary;
		const { failed } = this.#model;
		const incomplete = state === 'ended' && failed > 0;
		const word = incomplete ? partial : states[state];
		if (this.#state !== null && this.#state !== word) this.#live.announce(`Comparison: ${word}`);
		this.#state = word;
		const now = JSON.stringify([
			done,
			total,
			state,
			message,
			running,
			canGoOn,
			failure,
			failed,
			failures,
			Math.round(seconds),
		]);
		if (now === this.#headerOf) return;
		this.#headerOf = now;
		const focused = this.#header.contains(document.activeElement);
		const left = state === 'running' && done > 0 ? (seconds / done) * (total - done) : null;
		const buttons = [
			running === 'own' ? button({ label: 'Stop', icon: 'stop', onClick: () => host.post({ type: 'stop' }) }) : null,
			running === 'no' && canGoOn === true
				? button({
						label: failed > 0 ? 'Retry Failed' : 'Continue',
						icon: 'continue',
						appearance: 'primary',
						onClick: () => host.post({ type: 'goOn' }),
					})
				: null,
			button({ label: 'Compare Strategies...', icon: 'sliders', onClick: () => host.post({ type: 'choose' }) }),
		].filter((one) => one !== null);
		const facts = [
			formatCounted(problems, 'problem'),
			...(environment === undefined ? [] : [`played in ${plainLabel(environment, 80)}`]),
			`policy ${plainLabel(policy, 80)}`,
			`${formatCounted(samples, 'sample')} per problem`,
			formatCounted(tokens, 'token'),
			formatDuration(seconds),
			...(left === null ? [] : [`about ${formatDuration(left)} left`]),
			...(running === 'other' ? ['running in another window or process'] : []),
		];
		fill(
			this.#header,
			element(
				'div',
				{ class: 'head-line' },
				element('h1', { title: plainLabel(folder, 400) }, plainLabel(name, 80)),
				element('span', { class: `badge state-${incomplete ? 'incomplete' : state}` }, word),
				element('span', { class: 'spacer' }),
				...buttons.map((one) => one.element),
			),
			element('p', { class: 'quiet facts' }, facts.join(' · ')),
			state === 'ended'
				? null
				: element('progress', {
						attributes: { max: Math.max(1, total), value: done },
						aria: { label: `${formatCount(done)} of ${formatCounted(total, 'search', 'searches')} done` },
					}),
			failed === 0
				? null
				: element(
						'div',
						{ class: 'failures', role: 'group', aria: { label: 'Failed searches' } },
						element(
							'p',
							{ class: 'fault', role: 'alert' },
							`${formatCount(failed)} of ${formatCounted(done, 'search', 'searches')} failed and are excluded.`,
						),
						element(
							'ul',
							null,
							...failures.map(({ message: why, count }) =>
								element('li', null, element('strong', null, `${formatCount(count)}×`), ` ${plainLabel(why, 400)}`),
							),
						),
					),
			message === null ? null : element('p', { class: 'fault', role: 'alert' }, plainLabel(message, 600)),
			failure === null ? null : element('p', { class: 'fault', role: 'alert' }, plainLabel(failure.message, 600)),
		);
		if (focused) buttons[0]?.element.focus();
	}

	#drawControls(): void {
		const { state, summaryEvent } = this.#model;
		const bands = summaryEvent?.summary.bands ?? [];
		const now = JSON.stringify([state.view, state.band, bands]);
		if (now === this.#controlsOf) return;
		this.#controlsOf = now;
		const view = dropdown({
			label: 'Plot',
			showLabel: true,
			choices: [
				{ value: 'accuracy', label: 'Accuracy vs. tokens' },
				{ value: 'curves', label: 'pass@k and cons@k' },
			],
			value: state.view,
			onChange: (value) => this.#model.look({ view: value as 'accuracy' | 'curves' }),
		});
		const band = dropdown({
			label: 'Problems',
			showLabel: true,
			choices: [
				{ value: 'all', label: 'All problems' },
				...bands.map(({ problems, low, high }, i) => ({
					value: String(i),
					label: `Band ${i + 1}: ${formatCount(problems)} with solve rate ${share(low)} to ${share(high)}`,
				})),
			],
			value: state.band === null ? 'all' : String(state.band),
			onChange: (value) => this.#model.look({ band: value === 'all' ? null : Number(value) }),
		});
		fill(this.#controls, view.element, bands.length === 0 ? null : band.element);
	}

	#drawPlot(): void {
		const { state, selected } = this.#model;
		const { theme } = this.#themes;
		const curves = state.view === 'curves';
		const lines = curves ? this.#curveLines() : this.#accuracyLines();
		const band = state.band === null ? '' : `, band ${state.band + 1}`;
		this.#plot.show(
			{
				title: curves ? `pass@k and cons@k for independent samples${band}` : `Accuracy vs. tokens${band}`,
				xLabel: curves ? 'samples k' : 'mean tokens per problem',
				lines,
				selected,
			},
			theme,
		);
		fill(
			this.#legend,
			...lines.map(({ name, style, bound }) =>
				element('li', null, markSample(theme, style, bound), element('span', null, plainLabel(name, 80))),
			),
		);
	}

	#accuracyLines(): PlotLine[] {
		const { points } = this.#model;
		const lines = new Map<number, PointSummary[]>();
		for (const point of points) {
			const style = styleOf(points, point);
			lines.set(style, [...(lines.get(style) ?? []), point]);
		}
		return [...lines].map(([style, own]) => ({
			name: own[0]?.oracle ? `${own[0].name}: oracle upper bound` : (own[0]?.name ?? ''),
			style,
			bound: own[0]?.oracle ?? false,
			points: own.flatMap((point) => {
				const { accuracy, gain } = this.#model.shown(point);
				if (accuracy === null || point.tokens === null || point.tokens <= 0) return [];
				const gained = gain === null ? '' : `, gain ${(gain.mean * 100).toFixed(1)} points`;
				const bound = point.oracle ? ', oracle upper bound' : '';
				const words = `${plainLabel(point.name, 80)}, ${plainLabel(point.label, 120)}: ${share(accuracy.mean)} (${share(accuracy.low)} to ${share(accuracy.high)}) at ${formatCount(Math.round(point.tokens))} tokens${gained}${bound}`;
				return [{ id: point.id, x: point.tokens, y: accuracy, words }];
			}),
		}));
	}

	#curveLines(): PlotLine[] {
		const { summaryEvent, state } = this.#model;
		const names = {
			pass: 'pass@k: at least one of k samples is correct (upper bound)',
			cons: 'cons@k: majority answer of k samples is correct',
		};
		return (summaryEvent?.summary.curves ?? [])
			.filter(({ band }) => band === state.band)
			.map(({ measure, points }, i) => ({
				name: names[measure],
				style: i,
				bound: measure === 'pass',
				points: points.map(({ k, ...y }) => ({
					id: `${measure}@${k}`,
					x: k,
					y,
					words: `${measure}@${k}: ${share(y.mean)} (${share(y.low)} to ${share(y.high)})`,
				})),
			}));
	}

	#drawNotes(): void {
		const { points, summaryEvent } = this.#model;
		const played = summaryEvent?.summary.environment !== undefined;
		const notes = [
			'Error bars are 95% confidence intervals over problems. Gains are relative to the mean of the independent samples on the same problems (paired).',
			...(points.some(({ oracle }) => oracle) ? [played ? oracleNotes.episodes : oracleNotes.answers] : []),
			...(points.some(({ shared }) => shared)
				? [
						'Points with shared samples are computed from the independent samples. They are unbiased and have lower variance than separate searches.',
					]
				: []),
			...((summaryEvent?.summary.bands.length ?? 0) > 0
				? ['Difficulty bands are based on separate samples and ordered from easiest to hardest.']
				: []),
		];
		fill(this.#notes, ...notes.map((note) => element('p', null, note)));
	}
}
