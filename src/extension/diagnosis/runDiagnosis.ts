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

/** An alert, and how it stands. */
export interface StandingAlert {
	readonly alert: Alert;
	/** At the newest step, as far as was looked. */
	readonly holds: boolean;
	readonly dismissed: boolean;
}

export interface DiagnosisState {
	/** `reading`: what is there is what was found before. */
	readonly phase: 'reading' | 'ready';
	/** Most likely cause first. */
	readonly alerts: readonly StandingAlert[];
	/** How much of the run there was to look at; null: not known yet. */
	readonly extent: DiagnosisExtent | null;
}

export interface RunDiagnosisOptions {
	/** Runs are gone through one after the other: nobody waits for it. */
	readonly turns: Sequencer;
	readonly warn: (message: string) => void;
	/** Between two looks at the record of a run that has ended. */
	readonly restMs?: number;
	readonly pollMs?: number;
	/** Between two looks at whether a live run gets on. */
	readonly lookMs?: number;
}

/** Of what was found under these rules nothing need be looked for again. */
const version = createHash('sha256')
	.update(JSON.stringify([rules.map(({ name, fires }) => [name, fires]), thresholds]))
	.digest('hex')
	.slice(0, 12);

/** Steps whose rollouts are read between two looks at a live run; of more the newest. */
const maxNewSteps = 16;
const isLive = (status: RunStatus) => status === 'starting' || status === 'running' || status === 'paused';

/**
 * Looks at one run: goes through what is there, then follows what comes, and keeps what it finds beside the run. Of a run
 * that has ended and was gone through before, by whatever window, it reads the result alone.
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

	/** What is known of the run; null: nothing yet. */
	get record(): AnyRunRecord | null {
		return this.#record;
	}

	/** Whether it is written to, as far as was looked. */
	get live(): boolean {
		return this.#live;
	}

	/** The user has dismissed it, or wants to see it again. */
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

	/** One look at the run, from its beginning; while it lives it does not end. */
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
		// It may have been given up by whoever was just told.
		if (this.#live && !this.disposed) await this.#follow(content, diagnosed);
	}

	/** Alerts that cannot be read are looked for once more. */
	async #readLog(log: AlertLog): Promise<AlertState> {
		try {
			return await log.read();
		} catch (error) {
			this.#options.warn(`alerts of ${this.folder}: ${Failure.from(error).toString()}`);
			return { alerts: [], dismissed: new Set(), of: null, extent: null };
		}
	}

	async #readRecord(content: RunContent): Promise<void> {
		const { record, status } = await runStateOf(() => content.record());
		this.#record = record;
		this.#live = isLive(status);
	}

	/** What only time shows: whether a run that is at work gets on. */
	async #watch(content: RunContent, { diagnosis }: Diagnosed): Promise<void> {
		const before = diagnosis.revision;
		const look = await lookAtRun(content).catch(() => null);
		if (look === null || this.disposed) return;
		diagnosis.look(look);
		if (diagnosis.revision !== before) await this.#publish(diagnosis, false);
	}

	/** Until the run ends, or starts over. */
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
					if (what === 'anew') resolve();
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

	/** Shows and keeps what was found. @param whole the run has ended, and nothing is left to look at */
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
			// A folder that cannot be written to is no reason not to show what was found.
			this.#options.warn(`alerts of ${this.folder}: ${Failure.from(error).toString()}`);
			dismissed = new Set(this.#state.alerts.filter((one) => one.dismissed).map((one) => one.alert.id));
		}
		this.#tell({ phase: 'ready', alerts: standing(alerts, holding, dismissed), extent });
	}

	#tell(state: DiagnosisState): void {
		if (this.disposed || JSON.stringify(state) === JSON.stringify(this.#state)) return;
		this.#state = state;
		this.#changed.fire();
	}

	/** Until the record of the run says something else. */
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

/** Takes what a follower tells after the run was gone through. */
class LiveDiagnosis {
	readonly #content: RunContent;
	readonly #diagnosis: Diagnosis;
	readonly #tags: Diagnosed['tags'];
	readonly #signal: AbortSignal;
	readonly #seen: Set<number>;
	#lastStep: number;
	/** The follower tells what was gone through once more, up to its first `synced`. */
	#replays = true;
	#begun = false;
	#fresh: number[] = [];
	#work: Promise<unknown> = Promise.resolve();
	/** Revision and step as they were said last. */
	#told: number;
	#toldStep: number;
	#toldBatches: number;
	#short: boolean;

	constructor(content: RunContent, { diagnosis, lastStep, steps, tags }: Diagnosed, signal: AbortSignal) {
		this.#content = content;
		this.#diagnosis = diagnosis;
		this.#lastStep = lastStep;
		this.#seen = new Set(steps);
		this.#tags = tags;
		this.#signal = signal;
		this.#told = diagnosis.revision;
		this.#toldStep = lastStep;
		this.#toldBatches = diagnosis.batches;
		this.#short = diagnosis.batches < limit('shortRun');
	}

	/** @returns `anew`: all of it is to be gone through again; a promise when a round is over: whether something changed */
	take(event: RunTailEvent): 'anew' | Promise<boolean> | null {
		switch (event.kind) {
			case 'reset':
				return this.#begun ? 'anew' : null;
			case 'metrics': {
				this.#begun = true;
				// Some trainers write a step in several rows, one after the other.
				const news = event.lines.filter(({ step }) => (this.#replays ? step > this.#lastStep : step >= this.#lastStep));
				this.#lastStep = Math.max(this.#lastStep, news.at(-1)?.step ?? -1);
				this.#diagnosis.addMetrics(news);
				return null;
			}
			case 'evaluations':
				// Those that are known already count once.
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
				this.#begun = true;
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

	/** Whether there is something to say; steps alone are said now and then. */
	#changed(): boolean {
		const { revision, holding, batches } = this.#diagnosis;
		const isShort = batches < limit('shortRun');
		const grew = (this.#short && batches > this.#toldBatches) || this.#short !== isShort;
		this.#short = isShort;
		this.#toldBatches = batches;
		const moved = holding.size > 0 && this.#lastStep >= this.#toldStep + 20;
		if (revision === this.#told && !moved && !grew) return false;
		this.#told = revision;
		this.#toldStep = this.#lastStep;
		return true;
	}
}

/** What a change of the record must differ in to be inspected. */
function stateOf(record: AnyRunRecord | null): string {
	return record === null ? '' : diagnosedState(record, record.step, record.status);
}

/** Of a run that has ended: those that held at its last step. */
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
