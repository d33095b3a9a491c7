import { Disposable } from '../../src/base/disposable.ts';
import { Emitter } from '../../src/base/event.ts';
import { columnOn, type Overlay, type OverlayAxis, overlay, sharedNames } from '../../src/core/comparison/overlay.ts';
import type { CurvePoints } from '../../src/core/comparison/runCurves.ts';
import { meanOfRuns } from '../../src/core/comparison/seedGroups.ts';
import { describeMetric } from '../../src/core/metrics/catalog.ts';
import { maxPinned, type PinnedChart } from '../../src/protocol/pinnedCharts.ts';
import type {
	ComparedRun,
	ComparisonCommand,
	ComparisonEvent,
	comparisonRequests,
} from '../../src/protocol/runComparisonMessages.ts';
import type { Panel } from '../lib/bridge.ts';
import type { ColumnSource, GapStyle } from '../lib/charts/chartSpec.ts';
import { Smoother } from '../lib/charts/smoothing.ts';
import type { SavedState, Tab } from './savedState.ts';

type Requests = typeof comparisonRequests;

/** Panel interface used by the model. */
export type ComparisonHost = Panel<ComparisonCommand, Requests>;

/** `runs`: names and statuses; `data`: curves; `view`: settings, pinned charts; `tab`; `progress`: prompt search. */
export type Change = 'runs' | 'data' | 'view' | 'tab' | 'progress';

export type PromptProgress = Extract<ComparisonEvent, { type: 'promptProgress' }>;

const empty: CurvePoints = {
	step: new Float64Array(0),
	time: new Float64Array(0),
	tokens: new Float64Array(0),
	names: [],
	values: [],
	rowsPerPoint: 1,
};

/** Returns the name of the overlay column for a run's metric. */
export function columnKey(run: number, metric: string): string {
	return `${run}|${metric}`;
}

/** Comparison state, updated by panel events. */
export class ComparisonModel extends Disposable implements ColumnSource {
	readonly host: ComparisonHost;
	readonly smoother = new Smoother();
	readonly #changed = this.register(new Emitter<ReadonlySet<Change>>());
	readonly onChange = this.#changed.event;
	readonly #columns = new Map<string, Float64Array>();
	#saved: SavedState | undefined;
	#overlay: Overlay = { x: new Float64Array(0), rows: [] };
	runs: readonly ComparedRun[] = [];
	points: CurvePoints[] = [];
	/** Number of metrics that are unique to each run. */
	alone: number[] = [];
	axis: OverlayAxis = 'step';
	tab: Tab = 'curves';
	filter = '';
	baseline = 0;
	readonly hidden = new Set<number>();
	readonly logToggled = new Set<string>();
	progress: PromptProgress | null = null;
	/** Whether runs that differ only in their seed are drawn as their mean. */
	grouped = true;
	pinned: readonly PinnedChart[] = [];
	/** Runs averaged by each mean line, indexed by line index minus the number of runs. */
	#means: readonly (readonly number[])[] = [];
	#meanPoints: readonly CurvePoints[] = [];

	constructor(host: ComparisonHost, saved: SavedState | undefined) {
		super();
		this.host = host;
		this.#saved = saved;
	}

	receive(event: ComparisonEvent): void {
		switch (event.type) {
			case 'runs': {
				const first = this.runs.length === 0;
				const groups = JSON.stringify(this.runs.map(({ seedGroup }) => seedGroup));
				this.runs = event.runs;
				if (first) {
					this.points = event.runs.map(() => empty);
					this.alone = event.runs.map(() => 0);
					this.#restore();
				}
				if (groups !== JSON.stringify(event.runs.map(({ seedGroup }) => seedGroup))) {
					this.#rebuild();
					this.#tell('data');
				}
				this.#tell('runs');
				break;
			}
			case 'pinned':
				this.pinned = event.charts;
				this.#tell('view');
				break;
			case 'curves': {
				const { type: _, run, alone, ...points } = event;
				if (this.points[run] === undefined) return;
				this.points[run] = points;
				this.alone[run] = alone;
				this.#rebuild();
				this.#tell('data');
				break;
			}
			case 'promptProgress':
				this.progress = event;
				this.#tell('progress');
				break;
		}
	}

	/** Union of the x values of all runs, in ascending order. */
	get x(): Float64Array {
		return this.#overlay.x;
	}

	get length(): number {
		return this.#overlay.x.length;
	}

	/** Metrics that at least two runs have, catalog metrics first. */
	get metrics(): string[] {
		return sharedNames(this.points.map(({ names }) => names));
	}

	/** Returns the runs that have a metric. */
	runsWith(metric: string): number[] {
		return this.points.flatMap(({ names }, run) => (names.includes(metric) ? [run] : []));
	}

	/** Whether some of the runs differ only in their seed. */
	get hasGroups(): boolean {
		return this.runs.some(({ seedGroup }) => seedGroup !== null);
	}

	/** Returns a metric's lines in order: each run by index, and each mean in place of its first run. */
	linesWith(metric: string): number[] {
		const lines = new Set<number>();
		for (const run of this.runsWith(metric)) {
			const mean = this.#means.findIndex((members) => members.includes(run));
			lines.add(
				mean >= 0 && this.#allPoints[this.runs.length + mean]?.names.includes(metric) ? this.runs.length + mean : run,
			);
		}
		return [...lines];
	}

	/** Returns the runs that a line shows: a single run, or the averaged runs. */
	membersOf(line: number): readonly number[] {
		return this.#means[line - this.runs.length] ?? [line];
	}

	/** Returns the run that determines a run's line style: the first run in its mean, or the run itself. */
	styleOf(run: number): number {
		return this.#means.find((members) => members.includes(run))?.[0] ?? run;
	}

	get #allPoints(): readonly CurvePoints[] {
		return [...this.points, ...this.#meanPoints];
	}

	/** Runs that have no values on the current axis. */
	get offAxis(): number[] {
		if (this.axis !== 'tokens') return [];
		return this.points.flatMap(({ tokens, step }, run) =>
			step.length > 0 && tokens.every((value) => Number.isNaN(value)) ? [run] : [],
		);
	}

	column(key: string): Float64Array | undefined {
		let column = this.#columns.get(key);
		if (column === undefined) {
			const cut = key.indexOf('|');
			const run = Number(key.slice(0, cut));
			const points = this.#allPoints[run];
			const at = points?.names.indexOf(key.slice(cut + 1)) ?? -1;
			const values = points?.values[at];
			if (values === undefined) return undefined;
			column = columnOn(this.#overlay, run, values);
			this.#columns.set(key, column);
		}
		return column;
	}

	smoothed(key: string): Float64Array | undefined {
		const column = this.column(key);
		return column && this.smoother.column(key, column);
	}

	/** Returns how to connect a run's points across the x values of other runs. */
	gaps(key: string): GapStyle {
		const [metric = ''] = key.slice(key.indexOf('|') + 1).split('\u0000');
		return describeMetric(metric).group === 'evaluation' ? 'dotted' : 'bridged';
	}

	/** Returns a run's value at a row, or its latest value before that row. */
	valueAt(key: string, row: number): number {
		const column = this.column(key);
		if (column === undefined) return Number.NaN;
		let at = Math.min(row, column.length - 1);
		while (at > 0 && Number.isNaN(column[at])) at--;
		return column[at] ?? Number.NaN;
	}

	lastValue(key: string): number {
		return this.valueAt(key, this.length - 1);
	}

	setAxis(axis: OverlayAxis): void {
		if (axis === this.axis) return;
		this.axis = axis;
		this.#rebuild();
		this.#tell('view', 'data');
	}

	setSmoothing(weight: number): void {
		this.smoother.setWeight(weight);
		this.#tell('view');
	}

	setFilter(filter: string): void {
		this.filter = filter;
		this.#tell('view');
	}

	setBaseline(run: number): void {
		if (run === this.baseline || this.runs[run] === undefined) return;
		this.baseline = run;
		this.#tell('view');
	}

	toggleRun(run: number): void {
		if (!this.hidden.delete(run)) this.hidden.add(run);
		if (this.hasGroups && this.grouped) this.#rebuild();
		this.#tell('view', 'data');
	}

	setGrouped(grouped: boolean): void {
		this.grouped = grouped;
		this.#rebuild();
		this.#tell('view', 'data');
	}

	isPinned(chart: PinnedChart): boolean {
		return this.pinned.some(({ x, y }) => x === chart.x && y === chart.y);
	}

	/** Pins a chart for the workspace, or unpins it. */
	togglePin(chart: PinnedChart): void {
		const others = this.pinned.filter(({ x, y }) => x !== chart.x || y !== chart.y);
		const pinned = others.length === this.pinned.length;
		this.pinned = pinned ? [...others, chart].slice(-maxPinned) : others;
		this.host.post({ type: 'pin', chart, pinned });
		this.#tell('view');
	}

	toggleLog(metric: string): void {
		if (!this.logToggled.delete(metric)) this.logToggled.add(metric);
		this.#tell('view');
	}

	show(tab: Tab): void {
		if (tab === this.tab) return;
		this.tab = tab;
		this.#tell('tab');
	}

	saved(): SavedState | null {
		if (this.runs.length === 0) return null;
		return {
			folders: this.runs.map(({ folder }) => folder),
			tab: this.tab,
			axis: this.axis,
			smoothing: this.smoother.weight,
			hidden: [...this.hidden],
			grouped: this.grouped,
			baseline: this.baseline,
			filter: this.filter.slice(0, 1000),
			logToggled: [...this.logToggled].slice(0, 400),
		};
	}

	#restore(): void {
		const saved = this.#saved;
		this.#saved = undefined;
		if (!saved || JSON.stringify(saved.folders) !== JSON.stringify(this.runs.map(({ folder }) => folder))) return;
		this.tab = saved.tab;
		this.axis = saved.axis;
		this.filter = saved.filter;
		this.grouped = saved.grouped;
		this.smoother.setWeight(saved.smoothing);
		for (const run of saved.hidden) if (run < this.runs.length) this.hidden.add(run);
		for (const metric of saved.logToggled) this.logToggled.add(metric);
		if (saved.baseline < this.runs.length) this.baseline = saved.baseline;
		this.#tell('tab', 'view');
	}

	#rebuild(): void {
		this.#columns.clear();
		this.smoother.invalidateFrom(0);
		this.#means = this.#groupsShown();
		this.#meanPoints = this.#means.map((runs) => meanOfRuns(runs.map((run) => this.points[run] ?? empty)));
		this.#overlay = overlay(this.#allPoints, this.axis);
	}

	/** Returns the groups with at least two visible runs. */
	#groupsShown(): number[][] {
		if (!this.grouped) return [];
		const shown = this.runs.flatMap(({ seedGroup }, run) =>
			seedGroup === null || this.hidden.has(run) ? [] : [{ seedGroup, run }],
		);
		const groups = Map.groupBy(shown, ({ seedGroup }) => seedGroup);
		return [...groups.values()].filter(({ length }) => length > 1).map((members) => members.map(({ run }) => run));
	}

	#tell(...changes: Change[]): void {
		this.#changed.fire(new Set(changes));
	}
}
