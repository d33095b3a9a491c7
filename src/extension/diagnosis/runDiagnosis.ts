import { createHash } from 'node:crypto';
import type { Sequencer } from '../../base/async.ts';
import { Disposable, toDisposable } from '../../base/disposable.ts';
import { Emitter } from '../../base/event.ts';
import { Failure } from '../../base/failure.ts';
import type { Diagnosis } from '../../core/diagnosis/diagnosis.ts';
import { rules } from '../../core/diagnosis/rules.ts';
import { limit, thresholds } from '../../core/diagnosis/thresholds.ts';
import { rankAlerts } from '../../core/diagnosis/verdict.ts';
import type { Alert } from '../../protocol/alert.ts';
import type { AnyRunRecord, RunStatus } from '../../protocol/runRecord.ts';
import { AlertLog, type AlertState, type DiagnosisExtent, diagnosedState } from '../../runs/alertLog.ts';
import { type Diagnosed, goThrough } from '../../runs/diagnoseRun.ts';
import { followRun } from '../../runs/followRun.ts';
import { lookAtRun } from '../../runs/lookAtRun.ts';
import { openRun } from '../../runs/openRun.ts';
import type { RunContent } from '../../runs/runContent.ts';
import { runStateOf } from '../../runs/runStatus.ts';
import type { RunTailEvent } from '../../runs/runTail.ts';
import { stepFactsOf } from '../../runs/stepFactsOf.ts';

/** An alert and its current status. */
export interface StandingAlert {
	readonly alert: Alert;
	/** Whether the alert applies at the latest diagnosed step. */
	readonly holds: boolean;
	readonly dismissed: boolean;
}

export interface DiagnosisState {
	/** `reading`: the alerts are from an earlier diagnosis and may be out of date. */
	readonly phase: 'reading' | 'ready';
	/** Alerts, most likely cause first. */
	readonly alerts: readonly StandingAlert[];
	/** Amount of data diagnosed; null if not yet known. */
	readonly extent: DiagnosisExtent | null;
}

export interface RunDiagnosisOptions {
	/** Queue that diagnoses runs one at a time in the background. */
	readonly turns: Sequencer;
	readonly warn: (message: string) => void;
	/** Interval between checks of a finished run's record, in milliseconds. */
	readonly restMs?: number;
	readonly pollMs?: number;
	/** Interval between progress checks of a live run, in milliseconds. */
	readonly lookMs?: number;
}

/** Version of the rules and thresholds. Results with the same version need not be recomputed. */
const version = createHash('sha256')
	.update(JSON.stringify([rules.map(({ name, fires }) => [name, fires]), thresholds]))
	.digest('hex')
	.slice(0, 12);

/** Maximum number of new steps whose rollouts are read per update of a live run; the latest steps take precedence. */
const maxNewSteps = 16;
const isLive = (status: RunStatus) => status === 'starting' || status === 'running' || status === 'paused';

/**
 * Diagnoses one run: analyzes the existing data, then follows new data, and saves the alerts next to the run. For a
 * finished run that any window has already diagnosed, only the saved result is read.
 */
export class RunDiagnosis extends Disposable {
	readonly folder: string;
	readonly #options: RunDiagnosisOptions;
	readonly #changed: Emitter<void>;
	readonly #abort = new AbortController();
	#state: DiagnosisState = { phase: 'reading', alerts: [], extent: null };
	#log: AlertLog | null = null;
	#record: AnyRunRecord | null = null;
	#live = false;
	#wake: (() => void) | null = null;

	constructor(folder: string, options: RunDiagnosisOptions) {
		super();
		this.folder = folder;
		this.#options = options;
		this.#changed = this.register(new Emitter<void>((error) => options.warn(String(error))));
		this.register(
			toDisposable(() => {
				this.#abort.abort();
				this.#wake?.();
			}),
		);
		void this.#run();
	}

	get onDidChange() {
		return this.#changed.event;
	}

	get state(): DiagnosisState {
		return this.#state;
	}

	/** Latest known run record; null if not yet read. */
	get record(): AnyRunRecord | null {
		return this.#record;
	}

	/** Whether the run was live when last checked. */
	get live(): boolean {
		return this.#live;
	}

	/** Dismisses an alert or restores it. */
	async dismiss(id: string, dismissed: boolean): Promise<void> {
		this.#log ??= await AlertLog.of(await openRun(this.folder));
		await this.#log.dismiss(id, dismissed, Date.now() / 1000);
		const alerts = this.#state.alerts.map((one) => (one.alert.id === id ? { ...one, dismissed } : one));
		this.#tell({ ...this.#state, alerts });
	}

	async #run(): Promise<void> {
		while (!this.disposed) {
			try {
				await this.#look();
			} catch (error) {
				const failure = Failure.from(error);
				if (failure.reason !== 'cancelled') this.#options.warn(`diagnosis of ${this.folder}: ${failure.toString()}`);
			}
			await this.#rest();
		}
	}

	/** Diagnoses the run from its beginning. For a live run, resolves only when the run ends or restarts. */
	async #look(): Promise<void> {
		const content = await openRun(this.folder);
		const log = await AlertLog.of(content);
		this.#log = log;
		await this.#readRecord(content);
		const known = await this.#readLog(log);
		const record = this.#record;
		const isKnown = record !== null && known.of === diagnosedState(record, record.step, version);
		if (!this.#live && isKnown && known.extent !== null) {
			this.#tell({
				phase: 'ready',
				alerts: standing(known.alerts, heldAt(known.alerts, record.step), known.dismissed),
				extent: known.extent,
			});
			return;
		}
		this.#tell({ phase: 'reading', alerts: standing(known.alerts, new Set(), known.dismissed), extent: null });
		const { signal } = this.#abort;
		const diagnosed = await this.#options.turns.queue(() => goThrough(content, { signal }));
		if (this.disposed) return;
		await this.#publish(diagnosed.diagnosis, !this.#live);
		// A listener of the update above may have disposed this diagnosis.
		if (this.#live && !this.disposed) await this.#follow(content, diagnosed);
	}

	/** Reads saved alerts. If they are unreadable, the run is diagnosed again. */
	async #readLog(log: AlertLog): Promise<AlertState> {
		try {
			return await log.read();
		} catch (error) {
			this.#options.warn(`alerts for ${this.folder}: ${Failure.from(error).toString()}`);
			return { alerts: [], dismissed: new Set(), of: null, extent: null };
		}
	}

	async #readRecord(content: RunContent): Promise<void> {
		const { record, status } = await runStateOf(() => content.record());
		this.#record = record;
		this.#live = isLive(status);
	}

	/** Checks for problems that only become visible over time, such as a live run that makes no progress. */
	async #watch(content: RunContent, { diagnosis }: Diagnosed): Promise<void> {
		const before = diagnosis.revision;
		const look = await lookAtRun(content).catch(() => null);
		if (look === null || this.disposed) return;
		diagnosis.look(look);
		if (diagnosis.revision !== before) await this.#publish(diagnosis, false);
	}

	/** Follows the run until it ends or restarts. */
	async #follow(content: RunContent, diagnosed: Diagnosed): Promise<void> {
		const looks = setInterval(() => void this.#watch(content, diagnosed), this.#options.lookMs ?? 10_000);
		const follower = followRun(this.folder, { pollMs: this.#options.pollMs ?? 2000, format: content.format });
		try {
			await new Promise<void>((resolve) => {
				const live = new LiveDiagnosis(content, diagnosed, this.#abort.signal);
				this.#wake = resolve;
				follower.onEvent((event) => {
					if (event.kind === 'record') {
						this.#record = event.record;
						this.#live = isLive(event.status);
					}
					const what = live.take(event);
					if (what === 'restart') resolve();
					else if (what !== null) {
						void what.then(
							async (changed) => {
								if (this.disposed) return;
								if (changed || !this.#live) await this.#publish(diagnosed.diagnosis, !this.#live);
								if (!this.#live) resolve();
							},
							() => resolve(),
						);
					}
				});
				follower.start();
			});
		} finally {
			this.#wake = null;
			clearInterval(looks);
			follower.dispose();
		}
	}

	/** Publishes and saves the alerts. @param whole whether the run has ended and the diagnosis is complete */
	async #publish(diagnosis: Diagnosis, whole: boolean): Promise<void> {
		const log = this.#log as AlertLog;
		const { alerts, holding, batches, unsampled } = diagnosis;
		const extent = { batches, unsampled };
		const record = this.#record;
		const of = whole && record !== null ? diagnosedState(record, record.step, version) : null;
		let dismissed: ReadonlySet<string> = new Set();
		try {
			await log.save(alerts, Date.now() / 1000, of, extent);
			dismissed = (await log.read()).dismissed;
		} catch (error) {
			// Show the alerts even if the folder is not writable.
			this.#options.warn(`alerts for ${this.folder}: ${Failure.from(error).toString()}`);
			dismissed = new Set(this.#state.alerts.filter((one) => one.dismissed).map((one) => one.alert.id));
		}
		this.#tell({ phase: 'ready', alerts: standing(alerts, holding, dismissed), extent });
	}

	#tell(state: DiagnosisState): void {
		if (this.disposed || JSON.stringify(state) === JSON.stringify(this.#state)) return;
		this.#state = state;
		this.#changed.fire();
	}

	/** Waits until the run record changes. */
	async #rest(): Promise<void> {
		const before = this.#record;
		while (!this.disposed) {
			await new Promise<void>((resolve) => {
				const timer = setTimeout(resolve, this.#options.restMs ?? 5000);
				this.#wake = () => {
					clearTimeout(timer);
					resolve();
				};
			});
			if (this.disposed) return;
			const content = await openRun(this.folder).catch(() => null);
			await (content && this.#readRecord(content).catch(() => undefined));
			if (this.#live || stateOf(this.#record) !== stateOf(before)) return;
		}
	}
}

/** Processes follower events after the initial diagnosis. */
class LiveDiagnosis {
	readonly #content: RunContent;
	readonly #diagnosis: Diagnosis;
	readonly #tags: Diagnosed['tags'];
	readonly #signal: AbortSignal;
	readonly #seen: Set<number>;
	#lastStep: number;
	/** Whether the follower is still replaying data that is already diagnosed. Ends with the first `synced` event. */
	#replays = true;
	#started = false;
	#fresh: number[] = [];
	#work: Promise<unknown> = Promise.resolve();
	/** Revision and step at the last update. */
	#reported: number;
	#reportedStep: number;
	#reportedBatches: number;
	#short: boolean;

	constructor(content: RunContent, { diagnosis, lastStep, steps, tags }: Diagnosed, signal: AbortSignal) {
		this.#content = content;
		this.#diagnosis = diagnosis;
		this.#lastStep = lastStep;
		this.#seen = new Set(steps);
		this.#tags = tags;
		this.#signal = signal;
		this.#reported = diagnosis.revision;
		this.#reportedStep = lastStep;
		this.#reportedBatches = diagnosis.batches;
		this.#short = diagnosis.batches < limit('shortRun');
	}

	/**
	 * @returns `restart` if the run must be diagnosed from scratch, or, after a `synced` event, a promise that
	 * resolves to whether anything changed
	 */
	take(event: RunTailEvent): 'restart' | Promise<boolean> | null {
		switch (event.kind) {
			case 'reset':
				return this.#started ? 'restart' : null;
			case 'metrics': {
				this.#started = true;
				// Some trainers write a step as several consecutive rows.
				const news = event.lines.filter(({ step }) => (this.#replays ? step > this.#lastStep : step >= this.#lastStep));
				this.#lastStep = Math.max(this.#lastStep, news.at(-1)?.step ?? -1);
				this.#diagnosis.addMetrics(news);
				return null;
			}
			case 'evaluations':
				// Evaluations that are already known are skipped.
				this.#diagnosis.addEvaluations(event.summaries);
				return null;
			case 'rollouts':
				for (const step of event.steps) {
					if (this.#seen.has(step)) continue;
					this.#seen.add(step);
					this.#fresh.push(step);
				}
				return null;
			case 'synced': {
				this.#started = true;
				this.#replays = false;
				const steps = this.#fresh.sort((a, b) => a - b).slice(-maxNewSteps);
				this.#fresh = [];
				const round = this.#work.then(async () => {
					for (const step of steps) {
						const facts = await stepFactsOf(this.#content, step, this.#tags, this.#signal).catch(() => null);
						if (facts !== null) this.#diagnosis.addStep(facts);
					}
				});
				this.#work = round;
				return round.then(() => this.#changed());
			}
			default:
				return null;
		}
	}

	/** Returns whether an update is due. A change in step alone triggers one only every 20 steps. */
	#changed(): boolean {
		const { revision, holding, batches } = this.#diagnosis;
		const isShort = batches < limit('shortRun');
		const grew = (this.#short && batches > this.#reportedBatches) || this.#short !== isShort;
		this.#short = isShort;
		this.#reportedBatches = batches;
		const moved = holding.size > 0 && this.#lastStep >= this.#reportedStep + 20;
		if (revision === this.#reported && !moved && !grew) return false;
		this.#reported = revision;
		this.#reportedStep = this.#lastStep;
		return true;
	}
}

/** Returns a key that changes when the record changes in a way that requires a new diagnosis. */
function stateOf(record: AnyRunRecord | null): string {
	return record === null ? '' : diagnosedState(record, record.step, record.status);
}

/** Returns the IDs of alerts that still applied at the last step of a finished run. */
function heldAt(alerts: readonly Alert[], step: number | null): ReadonlySet<string> {
	return new Set(alerts.filter(({ lastStep }) => step === null || lastStep >= step).map(({ id }) => id));
}

function standing(
	alerts: readonly Alert[],
	holding: ReadonlySet<string>,
	dismissed: ReadonlySet<string>,
): StandingAlert[] {
	const all = alerts.map((alert) => ({ alert, holds: holding.has(alert.id), dismissed: dismissed.has(alert.id) }));
	return rankAlerts(
		all,
		({ alert }) => alert,
		({ holds }) => holds,
	);
}
