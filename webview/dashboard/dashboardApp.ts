import { Disposable } from '../../src/base/disposable.ts';
import { Failure } from '../../src/base/failure.ts';
import type {
	DashboardAction,
	DashboardCommand,
	DashboardEvent,
	dashboardRequests,
	NextStep,
} from '../../src/protocol/dashboardMessages.ts';
import { maxPinned, type PinnedChart } from '../../src/protocol/pinnedCharts.ts';
import { LiveRegion } from '../lib/a11y.ts';
import type { Bridge } from '../lib/bridge.ts';
import type { ChartSpec } from '../lib/charts/chartSpec.ts';
import { NewChart } from '../lib/charts/newChart.ts';
import { PlotLink } from '../lib/charts/plotLink.ts';
import type { PlotMark } from '../lib/charts/plotMarks.ts';
import { element, setAria, setText } from '../lib/dom.ts';
import { frames } from '../lib/frames.ts';
import { ThemeWatcher } from '../lib/theme.ts';
import { Tooltip } from '../lib/tooltip.ts';
import { AlertsView } from './alertsView.ts';
import type { ChartCard } from './chartCard.ts';
import { chartsOf, metricsOf } from './chartCatalog.ts';
import { ChartGrid } from './chartGrid.ts';
import { DashboardModel } from './dashboardModel.ts';
import { exportAll, exportChart, type SaveFile } from './exports.ts';
import { statusWords } from './headerFacts.ts';
import { adviceOf } from './heroFacts.ts';
import { HeroView } from './heroView.ts';
import { NoticeView } from './noticeView.ts';
import { pairInView } from './pairInView.ts';
import { withPinned } from './pinnedGroup.ts';
import { RunHeader } from './runHeader.ts';
import { noticeOf } from './runNotice.ts';
import { Toolbar } from './toolbar.ts';
import { defaultView, type SavedState, toggled, type ViewState } from './viewState.ts';

export type DashboardBridge = Bridge<DashboardEvent, DashboardCommand, SavedState, typeof dashboardRequests>;

/** Key of the collapsible alert group. */
const alertsGroup = 'alerts';

/** Delay between redraws while a snapshot is being loaded. */
const loadingMs = 300;

/** Creates the parts of the dashboard and forwards changes between them. */
export class DashboardApp extends Disposable {
	readonly #bridge: DashboardBridge;
	readonly #model = this.register(new DashboardModel());
	readonly #link = this.register(new PlotLink());
	readonly #theme = this.register(new ThemeWatcher());
	readonly #live = this.register(new LiveRegion());
	readonly #tooltip: Tooltip;
	readonly #header: RunHeader;
	readonly #newChart: NewChart;
	readonly #toolbar: Toolbar;
	readonly #notice: NoticeView;
	readonly #hero: HeroView;
	readonly #alerts: AlertsView;
	readonly #grid: ChartGrid;
	readonly #noMatch = element('p', { class: 'no-match', hidden: true }, 'No charts match the filter.');
	readonly #flash = element('div', { class: 'flash', role: 'alert', hidden: true });
	#flashTimer: ReturnType<typeof setTimeout> | undefined;
	#view: ViewState;
	#marks: readonly PlotMark[] = [];
	#frame = 0;
	/** Pending animation frame that updates metric-pair charts to the visible range. */
	#pairFrame = 0;
	#pause: ReturnType<typeof setTimeout> | undefined;
	#rendered = Number.NEGATIVE_INFINITY;
	#said = '';
	/** The workspace's pinned charts. */
	#pinned: readonly PinnedChart[] = [];
	/** Metric whose chart will be scrolled into view as soon as it exists. */
	#wantedMetric: string | null = null;

	constructor(root: HTMLElement, bridge: DashboardBridge) {
		super();
		this.#bridge = bridge;
		this.#view = bridge.restoreState()?.view ?? defaultView;
		this.#tooltip = this.register(new Tooltip(root));
		const act = (action: DashboardAction): void => this.#ask(bridge.request('act', { action }));
		this.#header = this.register(
			new RunHeader({
				model: this.#model,
				tooltip: this.#tooltip,
				act,
				openRollouts: () => this.#openRollouts(this.#link.pinnedRow ?? this.#link.cursor),
			}),
		);
		this.#link.setAxis(this.#view.axis);
		this.#link.restore(this.#view.range, this.#view.pinned);
		this.#model.smoother.setWeight(this.#view.smoothing);
		this.#newChart = new NewChart((chart) => {
			if (!this.#pinned.some(({ x, y }) => x === chart.x && y === chart.y)) this.#setPinned([chart], true);
		});
		this.#toolbar = this.register(this.#makeToolbar());
		this.#notice = new NoticeView(act);
		this.#hero = new HeroView((step) => this.#take(step));
		this.#alerts = this.#makeAlerts();
		this.#grid = this.register(this.#makeGrid());
		this.#grid.setFilter(this.#view.filter);
		root.append(
			element('div', { class: 'top' }, this.#header.element, this.#toolbar.element, this.#newChart.element),
			this.#notice.element,
			this.#hero.element,
			this.#alerts.element,
			this.#grid.element,
			this.#noMatch,
			this.#flash,
			this.#live.element,
		);
		this.register(
			this.#link.onViewChange(() => {
				this.#placeMarks();
				this.#schedulePairs();
				this.#save({ range: this.#link.kept, pinned: this.#link.pinned });
			}),
		);
		this.register(this.#theme.onChange(() => this.#grid.rebuild()));
		this.register(bridge.onEvent((event) => this.#receive(event)));
		this.register(
			this.#model.onChange((change) => {
				if (change.kind === 'reset') this.#saveAll();
				if (change.kind === 'show') {
					this.#wantedMetric = change.metric;
					if (change.step !== null) this.#link.pinStep(change.step);
				}
				this.#schedule();
			}),
		);
		const clock = setInterval(() => frames.shown && this.#header.render(), 1000);
		const onKey = (event: KeyboardEvent): void => this.#onKey(event);
		document.addEventListener('keydown', onKey);
		this.register({
			dispose: () => {
				clearInterval(clock);
				clearTimeout(this.#flashTimer);
				clearTimeout(this.#pause);
				frames.cancel(this.#frame);
				frames.cancel(this.#pairFrame);
				document.removeEventListener('keydown', onKey);
			},
		});
		this.#render();
		bridge.post({ type: 'ready' });
		bridge.request('pinned', {}).then(
			({ charts }) => {
				this.#pinned = charts;
				this.#schedule();
			},
			// The dashboard works without pinned charts.
			() => undefined,
		);
	}

	readonly #saveFile: SaveFile = (name, kind, bytes) => this.#bridge.request('save', { name, kind, bytes });

	#makeToolbar(): Toolbar {
		return new Toolbar({
			model: this.#model,
			link: this.#link,
			view: this.#view,
			onSmoothing: (weight) => {
				this.#model.smoother.setWeight(weight);
				this.#grid.applySettings();
				this.#save({ smoothing: weight });
			},
			onAxis: (axis) => {
				this.#link.setAxis(axis);
				this.#placeMarks();
				this.#save({ axis });
			},
			onFilter: (filter) => {
				this.#grid.setFilter(filter);
				this.#showEmptiness();
				this.#save({ filter });
			},
			onExport: () => this.#export(() => exportAll(this.#model, this.#link, this.#saveFile)),
			openPinned: () => this.#openRollouts(this.#link.pinnedRow),
			newChart: this.#newChart.button,
		});
	}

	#makeAlerts(): AlertsView {
		const bridge = this.#bridge;
		return new AlertsView({
			collapsed: this.#view.collapsed.includes(alertsGroup),
			onCollapse: (collapsed) => this.#save({ collapsed: toggled(this.#view.collapsed, alertsGroup, collapsed) }),
			showEvidence: ({ id }, item) => this.#ask(bridge.request('showEvidence', { id, item })),
			showRecipe: ({ id }) => this.#ask(bridge.request('showRecipe', { id })),
			applyAdvice: ({ id }) => this.#ask(bridge.request('applyAdvice', { id })),
			dismiss: ({ id }, dismissed) => this.#ask(bridge.request('dismissAlert', { id, dismissed })),
			openSetting: () => this.#ask(bridge.request('openDiagnosisSetting', {})),
			announce: (words) => this.#live.announce(words),
		});
	}

	#makeGrid(): ChartGrid {
		return new ChartGrid(
			{
				model: this.#model,
				link: this.#link,
				tooltip: this.#tooltip,
				theme: () => this.#theme.theme,
				marks: () => this.#marks,
				onOpen: (row) => this.#openRollouts(row),
				onExport: (card, kind) =>
					this.#export(() => exportChart(card, kind, this.#model, this.#link, this.#theme.theme, this.#saveFile)),
				onToggle: (card) => this.#saveCard(card),
				isPinned: (spec) => this.#pinsOf(spec).length > 0,
				onPin: (card) => this.#pin(card.spec),
			},
			{
				stateOf: (chart) => ({
					switched: new Set(
						this.#view.switched.filter((key) => key.startsWith(`${chart} `)).map((key) => key.slice(chart.length + 1)),
					),
					logToggled: this.#view.logToggled.includes(chart),
					table: this.#view.tables.includes(chart),
				}),
				collapsed: new Set(this.#view.collapsed),
				onCollapse: (group, collapsed) => this.#save({ collapsed: toggled(this.#view.collapsed, group, collapsed) }),
				pairs: {
					pointsOf: (pair) => pairInView(this.#model.table, this.#link, pair),
					onUnpin: (pair) => this.#setPinned([pair], false),
					theme: () => this.#theme.theme,
				},
			},
		);
	}

	/** Returns the pinned metrics that a chart shows. */
	#pinsOf(spec: ChartSpec): PinnedChart[] {
		return this.#pinned.filter(({ x, y }) => x === null && metricsOf(spec).includes(y));
	}

	/** Pins a chart by its first metric, or unpins it. */
	#pin(spec: ChartSpec): void {
		const pins = this.#pinsOf(spec);
		const y = spec.lines[0]?.metric;
		if (y === undefined) return;
		this.#setPinned(pins.length > 0 ? pins : [{ x: null, y }], pins.length === 0);
	}

	#setPinned(charts: readonly PinnedChart[], pinned: boolean): void {
		const others = this.#pinned.filter((one) => !charts.some(({ x, y }) => x === one.x && y === one.y));
		this.#pinned = pinned ? [...others, ...charts].slice(-maxPinned) : others;
		for (const chart of charts) this.#ask(this.#bridge.request('pin', { chart, pinned }));
		this.#schedule();
	}

	#take(step: NextStep): void {
		const id = step === 'showAdvice' ? adviceOf(this.#model.alerts) : null;
		this.#ask(id === null ? this.#bridge.request('next', { step }) : this.#bridge.request('showRecipe', { id }));
	}

	#receive(event: DashboardEvent): void {
		if (this.#model.apply(event)) return;
		this.#model.expectSnapshot();
		this.#bridge.post({ type: 'resync' });
	}

	/** Schedules a redraw, at most once per frame and less often while a long run is loading. */
	#schedule(): void {
		if (this.#frame !== 0 || this.#pause !== undefined) return;
		if (this.#model.loading && performance.now() - this.#rendered < loadingMs) {
			this.#pause = setTimeout(() => {
				this.#pause = undefined;
				this.#schedule();
			}, loadingMs);
			return;
		}
		this.#frame = frames.request(() => {
			this.#frame = 0;
			this.#render();
			this.#rendered = performance.now();
		});
	}

	#schedulePairs(): void {
		if (this.#pairFrame !== 0) return;
		this.#pairFrame = frames.request(() => {
			this.#pairFrame = 0;
			this.#grid.updatePairs();
		});
	}

	#render(): void {
		const { table } = this.#model;
		this.#link.setRows(table.step, table.time);
		this.#placeMarks();
		const own = this.#model.run !== null && this.#model.run.format === undefined;
		const charts = chartsOf(
			table.names.filter((name) => table.count(name) > 0),
			own,
		);
		this.#newChart.setMetrics(charts.flatMap((group) => group.charts.flatMap(metricsOf)));
		this.#grid.setGroups(withPinned(charts, this.#pinned));
		this.#grid.update();
		if (this.#wantedMetric !== null && (this.#grid.reveal(this.#wantedMetric) || !this.#model.loading)) {
			this.#wantedMetric = null;
		}
		this.#header.render();
		this.#toolbar.render();
		this.#showEmptiness();
		this.#announce();
	}

	#showEmptiness(): void {
		const { table, run, loading } = this.#model;
		const empty = table.length === 0;
		this.#toolbar.element.hidden = empty;
		setAria(this.#grid.element, 'busy', loading);
		const hasGrpo = table.lastRow('reward') >= 0;
		this.#notice.show(noticeOf(run, table.length, hasGrpo, loading && empty), empty);
		this.#hero.show(this.#model, this.#model.alerts);
		this.#alerts.show(this.#model.alerts, empty);
		this.#noMatch.hidden = empty || !this.#grid.empty;
	}

	/** Announces changes in the run's status, but not individual steps. */
	#announce(): void {
		const { run } = this.#model;
		if (!run) return;
		const words = `${run.name}: ${statusWords(run)}${run.stage ? `, stage ${run.stage}` : ''}`;
		if (words === this.#said) return;
		this.#said = words;
		this.#live.announce(words);
	}

	#placeMarks(): void {
		const { table, marks, alerts } = this.#model;
		const { x } = this.#link;
		const found = (alerts?.alerts ?? [])
			.filter(({ dismissed }) => !dismissed)
			.map(({ step, title }) => ({ step, kind: 'alert', label: title }) as const);
		const all = found.length === 0 ? marks : [...marks, ...found].sort((a, b) => a.step - b.step);
		const placed = all.flatMap((mark): PlotMark[] => {
			const row = Math.min(table.length - 1, table.rowAtOrAfter(mark.step));
			const at = this.#link.axis === 'step' ? mark.step : x[row];
			return at === undefined || row < 0 ? [] : [{ x: at, kind: mark.kind, label: mark.label }];
		});
		const pinned = x[this.#link.pinnedRow ?? -1];
		this.#marks = pinned === undefined ? placed : [...placed, { x: pinned, kind: 'pin', label: '' }];
	}

	#openRollouts(row: number | null): void {
		const step = row === null ? null : (this.#model.table.step[row] ?? null);
		this.#ask(this.#bridge.request('openRollouts', { step }));
	}

	#ask(request: Promise<unknown>): void {
		request.catch((error: unknown) => this.#say(Failure.from(error)));
	}

	#export(work: () => Promise<unknown>): void {
		this.#ask(work());
	}

	#say(failure: Failure): void {
		if (failure.reason === 'cancelled') return;
		clearTimeout(this.#flashTimer);
		setText(this.#flash, failure.toString());
		this.#flash.hidden = false;
		this.#flashTimer = setTimeout(() => {
			this.#flash.hidden = true;
		}, 8000);
	}

	#onKey(event: KeyboardEvent): void {
		if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
		if (event.target instanceof HTMLElement && event.target.matches('input, textarea, vscode-text-field')) return;
		event.preventDefault();
		this.#toolbar.focusFilter();
	}

	#saveCard(card: ChartCard): void {
		const { id } = card.spec;
		const { switched, logToggled, table } = card.state;
		this.#save({
			switched: [
				...this.#view.switched.filter((key) => !key.startsWith(`${id} `)),
				...[...switched].map((metric) => `${id} ${metric}`),
			],
			logToggled: toggled(this.#view.logToggled, id, logToggled),
			tables: toggled(this.#view.tables, id, table),
		});
	}

	#save(change: Partial<ViewState>): void {
		this.#view = { ...this.#view, ...change };
		this.#saveAll();
	}

	#saveAll(): void {
		const { runFolder } = this.#model;
		if (runFolder !== null) this.#bridge.saveState({ runFolder, view: this.#view });
	}
}
