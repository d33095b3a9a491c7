import { Disposable } from '../../src/base/disposable.ts';
import { Emitter } from '../../src/base/event.ts';
import { columnOn, type Overlay, type OverlayAxis, overlay, sharedNames } from '../../src/core/comparison/overlay.ts';
import type { CurvePoints } from '../../src/core/comparison/runCurves.ts';
import { describeMetric } from '../../src/core/metrics/catalog.ts';
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

/** `runs`: names and statuses; `data`: curves; `view`: settings; `tab`; `progress`: prompt search progress. */
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

	constructor(host: ComparisonHost, saved: SavedState | undefined) {
		super();
		this.host = host;
		this.#saved = saved;
	}

	receive(event: ComparisonEvent): void {
		switch (event.type) {
			case 'runs': {
				const first = this.runs.length === 0;
				this.runs = event.runs;
				if (first) {
					this.points = event.runs.map(() => empty);
					this.alone = event.runs.map(() => 0);
					this.#restore();
				}
				this.#tell('runs');
				break;
			}
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
			const points = this.points[run];
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
		const metric = key.slice(key.indexOf('|') + 1);
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
		this.smoother.setWeight(saved.smoothing);
		for (const run of saved.hidden) if (run < this.runs.length) this.hidden.add(run);
		for (const metric of saved.logToggled) this.logToggled.add(metric);
		if (saved.baseline < this.runs.length) this.baseline = saved.baseline;
		this.#tell('tab', 'view');
	}

	#rebuild(): void {
		this.#columns.clear();
		this.smoother.invalidateFrom(0);
		this.#overlay = overlay(this.points, this.axis);
	}

	#tell(...changes: Change[]): void {
		this.#changed.fire(new Set(changes));
	}
}
