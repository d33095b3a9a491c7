import { basename } from 'node:path';
import { Disposable, toDisposable } from '../../../base/disposable.ts';
import type { Failure } from '../../../base/failure.ts';
import { type MetricChunk, MetricTable } from '../../../core/metrics/metricTable.ts';
import type {
	DashboardAlerts,
	DashboardEvent,
	DashboardMark,
	DashboardStage,
} from '../../../protocol/dashboardMessages.ts';
import { deviceNotes } from '../../../protocol/deviceEvent.ts';
import type { EvaluationSummary } from '../../../protocol/evaluation.ts';
import type { EventLine } from '../../../protocol/eventLine.ts';
import type { MetricsLine } from '../../../protocol/metricsLine.ts';
import type { AnyRunRecord, RunStatus } from '../../../protocol/runRecord.ts';
import { followRun } from '../../../runs/followRun.ts';
import type { RunFollower } from '../../../runs/runContent.ts';
import { readResolvedRecipe } from '../../../runs/runReader.ts';
import type { RunTailEvent } from '../../../runs/runTail.ts';
import { GivenName } from '../givenName.ts';
import { withMarks } from './dashboardMarks.ts';
import { dashboardRunOf, stagesOf, workersOf } from './dashboardRun.ts';

/** Location to show in a dashboard. */
export interface DashboardPlace {
	readonly step: number | null;
	readonly metric: string | null;
}

type Unnumbered = DashboardEvent extends infer E ? (E extends DashboardEvent ? Omit<E, 'sequence'> : never) : never;

export interface DashboardSessionOptions {
	/** Resolves when the webview has processed the event, which provides backpressure for long runs. */
	readonly post: (event: DashboardEvent) => PromiseLike<unknown>;
	/** Called when the run's name becomes known or changes. */
	readonly onName: (name: string) => void;
	/** Minimum interval between deltas, in milliseconds, so that a fast run does not flood the webview. */
	readonly newsMs?: number;
	readonly pollMs?: number;
	/** Maximum bytes of metrics per message. */
	readonly chunkBytes?: number;
}

/**
 * The state and messages of one run's dashboard. Follows the run's files from the beginning. Each line is parsed once;
 * a webview that restarts gets the columns from memory.
 */
export class DashboardSession extends Disposable {
	readonly #folder: string;
	readonly #options: DashboardSessionOptions;
	readonly #table = new MetricTable();
	readonly #tail: RunFollower;
	#record: AnyRunRecord | null = null;
	#status: RunStatus | null = null;
	#failure: Failure | null = null;
	#name: string;
	readonly #givenName: GivenName;
	#stages: DashboardStage[] = [];
	#workers: number | null = null;
	#recipeOf = '';
	#checkpoints: number[] = [];
	#marks: DashboardMark[] = [];
	#deviceNotes: readonly string[] = [];
	#alerts: DashboardAlerts | null = null;
	#alertsDirty = false;
	#rolloutSteps: number[] = [];
	#evaluations: EvaluationSummary[] = [];
	/** Overview of a long run that is still being read. */
	#overview: MetricChunk | null = null;
	#synced = false;
	/** Whether the webview has been asked to wait for `loaded`. */
	#reportedReading = false;
	/** Whether the webview has rows from before a reset and has not received a snapshot since. */
	#stale = false;

	#listening = false;
	#shown = true;
	#sequence = 0;
	/** Number of leading rows sent to the webview that have not changed since. */
	#sent = 0;
	#pumping = false;
	#runDirty = false;
	#marksDirty = false;
	#timer: NodeJS.Timeout | null = null;
	/** Location to show once the webview has received the run. */
	#wanted: DashboardPlace | null = null;

	constructor(folder: string, options: DashboardSessionOptions) {
		super();
		this.#folder = folder;
		this.#options = options;
		this.#name = basename(folder);
		this.#givenName = new GivenName(folder);
		this.#tail = this.register(followRun(folder, options.pollMs === undefined ? {} : { pollMs: options.pollMs }));
		this.register(this.#tail.onEvent((event) => this.#take(event)));
		this.register(
			toDisposable(() => {
				if (this.#timer !== null) clearTimeout(this.#timer);
				this.#listening = false;
			}),
		);
		this.#tail.start();
	}

	/** Called when the webview has (re)started; sends it the complete state and restarts the numbering. */
	begin(): void {
		this.#listening = true;
		this.#sendSnapshot();
	}

	/** Whether the dashboard is visible. Updates are held back while it is hidden and sent as soon as it is shown. */
	set shown(shown: boolean) {
		this.#shown = shown;
		if (shown) this.#flush();
	}

	/** Sets the diagnosis alerts for the run. */
	setAlerts(alerts: DashboardAlerts): void {
		this.#alerts = alerts;
		this.#alertsDirty = true;
		this.#schedule();
	}

	/** Shows a location, immediately or once the webview has started. */
	show(place: DashboardPlace): void {
		this.#wanted = place;
		if (this.#listening && this.#sequence > 0) this.#sendWanted();
	}

	/** Reads the run's files immediately. */
	refresh(): Promise<void> {
		return this.#tail.refresh();
	}

	/**
	 * Returns the latest step with rollouts up to `step`, or the oldest step with rollouts if all of them are later.
	 * Returns null if there are no rollouts.
	 */
	rolloutStepFor(step: number | null): number | null {
		const steps = this.#rolloutSteps;
		if (step === null) return steps.at(-1) ?? null;
		let best = steps[0] ?? null;
		for (const candidate of steps) if (candidate <= step) best = candidate;
		return best;
	}

	#take(event: RunTailEvent): void {
		switch (event.kind) {
			case 'reset':
				this.#table.clear();
				this.#marks = [];
				this.#deviceNotes = [];
				this.#rolloutSteps = [];
				this.#evaluations = [];
				this.#checkpoints = [];
				this.#overview = null;
				this.#synced = false;
				this.#reportedReading = false;
				this.#stale = true;
				break;
			case 'record':
				this.#record = event.record;
				this.#status = event.status;
				this.#failure = null;
				this.#runDirty = true;
				void this.#readDescriptions(event.record);
				break;
			case 'events':
				this.#marks = withMarks(this.#marks, event.lines);
				this.#marksDirty = true;
				this.#takeDevice(event.lines);
				break;
			case 'metrics':
				this.#touch(this.#table.append(event.lines));
				break;
			case 'overview':
				this.#takeOverview(event.lines);
				break;
			case 'evaluations':
				this.#evaluations.push(...event.summaries);
				break;
			case 'rollouts':
				this.#rolloutSteps = [...new Set([...this.#rolloutSteps, ...event.steps])].sort((a, b) => a - b);
				break;
			case 'checkpoints':
				this.#checkpoints = event.checkpoints.map((checkpoint) => checkpoint.step).sort((a, b) => a - b);
				this.#runDirty = true;
				break;
			case 'error':
				this.#failure = event.failure;
				this.#record = null;
				this.#status = null;
				this.#runDirty = true;
				break;
			case 'synced':
				this.#mergeEvaluations();
				void this.#lookAtName();
				if (!this.#synced) this.#sayLoaded();
				break;
		}
		if (this.#runDirty || this.#marksDirty || this.#sent < this.#table.length) this.#schedule();
	}

	/** Sends an overview immediately so that the user does not have to wait for the full data. */
	#takeOverview(lines: readonly MetricsLine[]): void {
		const table = new MetricTable();
		table.append(lines);
		if (table.length === 0) return;
		this.#overview = table.chunk(0, table.length);
		if (!this.#listening || this.#stale) return;
		if (this.#sequence === 0) this.#sendSnapshot();
		else this.#send({ type: 'overview', chunk: toMessage(this.#overview) });
	}

	#sayLoaded(): void {
		this.#synced = true;
		this.#overview = null;
		if (!this.#listening) return;
		// After a reset, the webview still has the old rows.
		if (this.#reportedReading) this.#send({ type: 'loaded', rows: this.#table.length });
		else this.#sendSnapshot();
		this.#reportedReading = false;
		void this.#pump();
	}

	/** Takes the device notes from the latest attempt. */
	#takeDevice(lines: readonly EventLine[]): void {
		const event = lines.findLast(({ type }) => type === 'device');
		if (event === undefined) return;
		this.#deviceNotes = deviceNotes(event);
		this.#runDirty = true;
	}

	/** Marks `row` and all later rows as changed for the webview. */
	#touch(row: number): void {
		this.#sent = Math.min(this.#sent, row);
	}

	/** Merges evaluations that are not part of the metrics, such as those from other trainers. */
	#mergeEvaluations(): void {
		for (const { name, step, accuracy, low, high } of this.#evaluations) {
			const metric = `eval/${name}/accuracy`;
			if (!Number.isNaN(this.#table.value(metric, this.#table.rowOf(step)))) continue;
			const near = Math.min(this.#table.length - 1, this.#table.rowAtOrAfter(step));
			const time = this.#table.time[near] ?? this.#record?.created ?? 0;
			const stage = this.#table.stageAt(near) ?? this.#record?.stage ?? '';
			this.#touch(
				this.#table.merge(step, time, stage, { [metric]: accuracy, [`${metric}_low`]: low, [`${metric}_high`]: high }),
			);
		}
		this.#evaluations = [];
	}

	/** Reads the recipe, once per attempt, and the user-assigned name. The run can be shown without either. */
	async #readDescriptions(record: AnyRunRecord): Promise<void> {
		const key = `${record.id} ${record.attempt}`;
		if (this.#recipeOf !== key) {
			this.#recipeOf = key;
			const recipe = await readResolvedRecipe(this.#folder).catch(() => null);
			this.#stages = stagesOf(recipe);
			this.#workers = workersOf(recipe);
		}
		await this.#givenName.look();
		if (this.disposed) return;
		this.#takeName();
		this.#runDirty = true;
		this.#schedule();
	}

	async #lookAtName(): Promise<void> {
		if (!(await this.#givenName.look()) || this.disposed) return;
		this.#takeName();
		this.#runDirty = true;
		this.#schedule();
	}

	#takeName(): void {
		const name = this.#givenName.value ?? (this.#record?.name.trim() || basename(this.#folder));
		if (name === this.#name) return;
		this.#name = name;
		this.#options.onName(name);
	}

	#runNow() {
		return dashboardRunOf({
			record: this.#record,
			status: this.#status,
			failure: this.#failure,
			name: this.#name,
			stages: this.#stages,
			checkpoints: this.#checkpoints,
			workers: this.#workers,
			deviceNotes: this.#deviceNotes,
			now: Date.now() / 1000,
		});
	}

	#send(event: Unnumbered): PromiseLike<unknown> {
		this.#sequence += 1;
		return this.#options.post({ ...event, sequence: this.#sequence } as DashboardEvent);
	}

	#sendSnapshot(): void {
		if (!this.#listening) return;
		if (!this.#synced && this.#record === null && this.#failure === null) return;
		const rows = this.#synced ? this.#table.length : null;
		this.#stale = false;
		this.#reportedReading = !this.#synced;
		this.#sent = 0;
		this.#runDirty = false;
		this.#marksDirty = false;
		this.#alertsDirty = false;
		this.#send({
			type: 'snapshot',
			runFolder: this.#folder,
			run: this.#runNow(),
			marks: this.#marks,
			...(this.#alerts === null ? {} : { alerts: this.#alerts }),
			rows,
		});
		if (this.#overview !== null) this.#send({ type: 'overview', chunk: toMessage(this.#overview) });
		this.#sendWanted();
		void this.#pump();
	}

	#sendWanted(): void {
		if (this.#wanted !== null) this.#send({ type: 'show', ...this.#wanted });
		this.#wanted = null;
	}

	#schedule(): void {
		if (!this.#listening || !this.#shown || this.#timer !== null || this.disposed) return;
		this.#timer = setTimeout(() => {
			this.#timer = null;
			this.#flush();
		}, this.#options.newsMs ?? 200);
	}

	#flush(): void {
		if (!this.#listening || !this.#shown) return;
		if (this.#sequence === 0) {
			this.#sendSnapshot();
			return;
		}
		if (this.#runDirty) {
			this.#runDirty = false;
			this.#send({ type: 'run', run: this.#runNow() });
		}
		if (this.#marksDirty) {
			this.#marksDirty = false;
			this.#send({ type: 'marks', marks: this.#marks });
		}
		if (this.#alertsDirty && this.#alerts !== null) {
			this.#alertsDirty = false;
			this.#send({ type: 'alerts', alerts: this.#alerts });
		}
		void this.#pump();
	}

	/** Sends pending rows in chunks, yielding to other tasks in between. */
	async #pump(): Promise<void> {
		if (this.#pumping || this.#stale) return;
		this.#pumping = true;
		try {
			while (this.#listening && this.#sent < this.#table.length && !this.disposed) {
				const bytes = this.#options.chunkBytes ?? 2 << 20;
				const rows = Math.max(64, Math.floor(bytes / (8 * (this.#table.names.length + 3))));
				const from = this.#sent;
				const to = Math.min(this.#table.length, from + rows);
				this.#sent = to;
				try {
					await this.#send({ type: 'rows', chunk: toMessage(this.#table.chunk(from, to)) });
				} catch {
					// The webview closed in the meantime. It will request a snapshot when it reopens.
					this.#listening = false;
				}
				await new Promise((resolve) => setImmediate(resolve));
			}
		} finally {
			this.#pumping = false;
		}
	}
}

type RowsMessage = Extract<DashboardEvent, { type: 'rows' }>['chunk'];

function toMessage(chunk: MetricChunk): RowsMessage {
	return { ...chunk, stages: [...chunk.stages], names: [...chunk.names], values: [...chunk.values] } as RowsMessage;
}
