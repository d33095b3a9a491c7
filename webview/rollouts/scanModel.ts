import { Disposable } from '../../src/base/disposable.ts';
import { Emitter } from '../../src/base/event.ts';
import { Failure } from '../../src/base/failure.ts';
import { formatCount, formatCounted } from '../../src/base/format.ts';
import type { ExplorerCommand, ExplorerEvent } from '../../src/protocol/explorerMessages.ts';

type ScanEvent = Extract<ExplorerEvent, { scan: number }>;
export type ScanProgress = Pick<ScanEvent, 'state' | 'done' | 'total' | 'rollouts' | 'skipped' | 'indexed'> & {
	readonly failure: Failure | null;
};

let lastScan = 0;

/**
 * Scan of a run's steps, with results so far and progress. Starting a new scan replaces the previous one, whose late
 * messages are ignored.
 */
export class ScanModel<Row extends { readonly step: number }> extends Disposable {
	readonly #post: (command: ExplorerCommand) => void;
	readonly #type: ScanEvent['type'];
	readonly #changed = this.register(new Emitter<void>());
	readonly onChange = this.#changed.event;
	#scan = 0;
	#key = '';
	/** Rows ordered by step. */
	rows: readonly Row[] = [];
	/** null if no scan has been started. */
	progress: ScanProgress | null = null;

	constructor(type: ScanEvent['type'], post: (command: ExplorerCommand) => void) {
		super();
		this.#type = type;
		this.#post = post;
	}

	get running(): boolean {
		return this.progress?.state === 'running';
	}

	/** Identifies what is scanned. A different key requires a new scan. */
	get key(): string {
		return this.#key;
	}

	/** @param command creates the start command for a scan with the given ID */
	start(key: string, command: (scan: number) => ExplorerCommand): void {
		this.stop();
		lastScan++;
		this.#scan = lastScan;
		this.#key = key;
		this.rows = [];
		this.progress = { state: 'running', done: 0, total: 0, rollouts: 0, skipped: 0, indexed: false, failure: null };
		this.#post(command(this.#scan));
		this.#changed.fire();
	}

	stop(): void {
		if (this.running) this.#post({ type: 'stopScan', scan: this.#scan });
	}

	/** Discards the results when the run is reloaded. */
	clear(): void {
		this.stop();
		this.#scan = 0;
		this.#key = '';
		this.rows = [];
		this.progress = null;
		this.#changed.fire();
	}

	receive(event: ExplorerEvent): void {
		if (event.type !== this.#type || event.scan !== this.#scan) return;
		const { state, done, total, rollouts, skipped, indexed, failure } = event;
		const error = failure === null ? null : new Failure(failure.reason, failure.message, failure.action);
		this.progress = { state, done, total, rollouts, skipped, indexed, failure: error };
		if (event.rows.length > 0) {
			this.rows = [...this.rows, ...(event.rows as unknown as Row[])].sort((a, b) => a.step - b.step);
		}
		this.#changed.fire();
	}
}

/** Returns a summary such as "Read 120 of 400 steps, 3,840 rollouts", plus why the scan ended. */
export function scanWords(progress: ScanProgress): string {
	const { state, done, total, rollouts, skipped, indexed, failure } = progress;
	if (failure) return failure.toString();
	const steps =
		done === total ? formatCounted(total, 'step') : `${formatCount(done)} of ${formatCounted(total, 'step')}`;
	const parts = [
		indexed
			? `From the rollout index: ${steps}, ${formatCounted(rollouts, 'rollout')}`
			: `${state === 'running' ? 'Reading' : 'Read'} ${steps}, ${formatCounted(rollouts, 'rollout')}`,
	];
	if (skipped > 0) parts.push(`${formatCount(skipped)} unreadable`);
	if (state === 'stopped') parts.push('stopped');
	if (state === 'bounded') parts.push('partial scan (no index)');
	return `${parts.join(' · ')}.`;
}
