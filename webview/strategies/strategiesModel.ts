import { Emitter } from '../../src/base/event.ts';
import type {
	StrategiesCommand,
	StrategiesEvent,
	StrategiesState,
	strategiesRequests,
} from '../../src/protocol/strategiesMessages.ts';
import type { PointSummary } from '../../src/protocol/strategyComparison.ts';
import type { Panel } from '../lib/bridge.ts';

export type StrategiesHost = Panel<StrategiesCommand, typeof strategiesRequests>;

type SummaryEvent = Extract<StrategiesEvent, { type: 'summary' }>;
type Kept = { -readonly [K in keyof StrategiesState]: StrategiesState[K] };

/** View state: the latest summary and the user's display choices. */
export class StrategiesModel {
	readonly host: StrategiesHost;
	readonly #changed = new Emitter<void>();
	readonly onChange = this.#changed.event;
	readonly #kept: Kept;
	summaryEvent: SummaryEvent | null = null;
	failure: Extract<StrategiesEvent, { type: 'failure' }> | null = null;

	constructor(host: StrategiesHost, state: StrategiesState | undefined) {
		this.host = host;
		this.#kept = state ?? { folder: '', view: 'accuracy', band: null, sort: { by: '', down: false }, selected: null };
	}

	get state(): StrategiesState {
		return this.#kept;
	}

	/** Point whose searches are listed. */
	get selected(): string | null {
		return this.#kept.selected;
	}

	get points(): readonly PointSummary[] {
		return this.summaryEvent?.summary.points ?? [];
	}

	/** Number of searches without a result. Summaries from older versions record this number only per point. */
	get failed(): number {
		const summary = this.summaryEvent?.summary;
		if (summary === undefined) return 0;
		return summary.failed || this.points.reduce((sum, { shared, failed }) => sum + (shared ? 0 : failed), 0);
	}

	/** Returns a point's values over all problems, or over the selected band. */
	shown(point: PointSummary): Pick<PointSummary, 'accuracy' | 'gain' | 'problems'> {
		const { band } = this.#kept;
		return band === null ? point : (point.bands[band] ?? { accuracy: null, gain: null, problems: 0 });
	}

	receive(event: StrategiesEvent): void {
		this.#kept.folder = event.folder;
		if (event.type === 'failure') this.failure = event;
		else {
			this.failure = null;
			this.summaryEvent = event;
			const { bands, points } = event.summary;
			if (this.#kept.band !== null && this.#kept.band >= bands.length) this.#kept.band = null;
			if (!points.some(({ id }) => id === this.selected)) this.#kept.selected = null;
		}
		this.#changed.fire();
	}

	/** Updates the display settings. */
	look(change: Partial<Omit<Kept, 'folder'>>): void {
		Object.assign(this.#kept, change);
		this.#changed.fire();
	}

	select(id: string | null): void {
		this.#kept.selected = id;
		this.#changed.fire();
	}
}

/** Returns the color and shape index for a point's line. The single sample always comes last. */
export function styleOf(points: readonly PointSummary[], point: PointSummary): number {
	const max = Math.max(-1, ...points.map(({ strategy }) => strategy ?? -1));
	return point.strategy ?? max + 1;
}
