import { Disposable, toDisposable } from '../../../base/disposable.ts';
import { Failure } from '../../../base/failure.ts';
import type { LongInspection } from '../../../protocol/transcriptMessages.ts';
import { inspectInThread, type RunningInspection } from '../../../runs/transcript/inspectInThread.ts';
import type { TextLines } from './transcriptText.ts';

/** Result of an inspection, or why there is none. */
export interface InspectionOutcome {
	readonly inspection: LongInspection | null;
	readonly failure: string | null;
}

/**
 * Minimum interval between inspections of a growing file: in milliseconds, and as a multiple of the last inspection's
 * duration.
 */
const pause = { ms: 5000, durations: 5 } as const;

/**
 * Inspects text with one message per line, in a worker thread. As long as the text only grows, the last result remains
 * valid for its beginning, and the whole text is reinspected now and then.
 */
export class LongInspections extends Disposable {
	readonly #report: (outcome: InspectionOutcome) => void;
	#lines: TextLines | null = null;
	#running: RunningInspection | null = null;
	#timer: NodeJS.Timeout | undefined;
	/** Whether the text has grown since the current or last inspection began. */
	#behind = false;
	/** Result for the text, or for its beginning. */
	latest: InspectionOutcome | null = null;

	constructor(report: (outcome: InspectionOutcome) => void) {
		super();
		this.#report = report;
		this.register(toDisposable(() => this.#stop()));
	}

	/** Inspects the given lines; null if the current text does not have one message per line. */
	follow(lines: TextLines | null): void {
		const grown = lines?.grown === true && this.#lines !== null;
		this.#lines = lines;
		if (grown) {
			this.#behind = true;
			if (this.#running === null && this.#timer === undefined) void this.#inspect();
			return;
		}
		this.#stop();
		this.latest = null;
		if (lines !== null) void this.#inspect();
	}

	async #inspect(): Promise<void> {
		const lines = this.#lines;
		if (lines === null || this.disposed) return;
		await lines.ready;
		if (lines !== this.#lines || this.disposed) return;
		this.#behind = false;
		const started = performance.now();
		let running: RunningInspection | null = null;
		let outcome: InspectionOutcome;
		try {
			running = inspectInThread(lines.file);
			this.#running = running;
			outcome = { inspection: await running.result, failure: null };
		} catch (error) {
			outcome = { inspection: null, failure: Failure.from(error).message };
		}
		// The panel now shows different text, or none.
		if (running !== null && running !== this.#running) return;
		this.#running = null;
		running?.cancel();
		this.latest = outcome;
		this.#report(outcome);
		const wait = Math.max(pause.ms, pause.durations * (performance.now() - started));
		this.#timer = setTimeout(() => {
			this.#timer = undefined;
			if (this.#behind) void this.#inspect();
		}, wait);
	}

	#stop(): void {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		const running = this.#running;
		this.#running = null;
		// The rejection is handled where the result is awaited.
		running?.cancel();
	}
}
