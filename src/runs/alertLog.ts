import { Sequencer } from '../base/async.ts';
import { parseLine } from '../files/jsonLines.ts';
import { LineTail } from '../files/lineTail.ts';
import type { Alert } from '../protocol/alert.ts';
import { type AlertLine, alertLineSchema } from '../protocol/alertLine.ts';
import { decode } from '../protocol/decode.ts';
import type { AnyRunRecord } from '../protocol/runRecord.ts';
import { annotationFolder } from './annotationFolder.ts';
import { appendAnnotation } from './appendAnnotation.ts';

export const alertsFile = 'alerts.jsonl';

/** Maximum number of alerts. More than any real run has, but a file can contain any number. */
const maxAlerts = 1000;

/** State stored in the file. */
export interface AlertState {
	/** Alerts, in the order of their first lines in the file. */
	readonly alerts: readonly Alert[];
	/** Ids of alerts that the user dismissed. */
	readonly dismissed: ReadonlySet<string>;
	/** The run state for which the alerts are complete; null if there is none or diagnosis is in progress. */
	readonly of: string | null;
	/** How much run data was available for diagnosis; set together with `of`. */
	readonly extent: DiagnosisExtent | null;
}

/** How much data a run had for diagnosis. */
export interface DiagnosisExtent {
	readonly batches: number;
	/** Number of rows from stages without sampling. */
	readonly unsampled: number;
}

/**
 * Returns the state of a finished run for `AlertState.of`. The state changes if the run continues.
 * @param rules version of the rules
 */
export function diagnosedState(record: AnyRunRecord, lastStep: number | null, rules: string): string {
	return `${record.id} ${record.attempt} ${lastStep} ${rules}`;
}

/**
 * Alerts for a run and the user's decisions about them: annotations/alerts.jsonl. Several windows can diagnose a run
 * simultaneously; each one appends only its differences from the shared file.
 */
export class AlertLog {
	readonly #folder: string;
	readonly #turns = new Sequencer();
	readonly #alerts = new Map<string, Alert>();
	readonly #dismissed = new Set<string>();
	#of: string | null = null;
	#extent: DiagnosisExtent | null = null;
	#tail: LineTail;

	/** @param folder see {@link annotationFolder}; does not have to exist */
	constructor(folder: string) {
		this.#folder = folder;
		this.#tail = new LineTail(folder, alertsFile);
	}

	static async of(run: { readonly folder: string; readonly format: string }): Promise<AlertLog> {
		return new AlertLog(await annotationFolder(run));
	}

	/** Reads the current file, including changes from other windows. */
	read(): Promise<AlertState> {
		return this.#turns.queue(() => this.#state());
	}

	/**
	 * Updates the file so that it contains exactly these alerts.
	 * @param time seconds since the epoch
	 * @param of the run state for which the alerts are complete; null if the run is continuing
	 * @param extent stored with `of`
	 */
	save(alerts: readonly Alert[], time: number, of: string | null, extent: DiagnosisExtent): Promise<void> {
		return this.#turns.queue(async () => {
			const state = await this.#state();
			const lines = linesFor(state, alerts, time, of, extent);
			if (lines.length > 0) await appendAnnotation(this.#folder, alertsFile, lines);
		});
	}

	/** @param time seconds since the epoch */
	dismiss(id: string, dismissed: boolean, time: number): Promise<void> {
		return this.#turns.queue(async () => {
			const state = await this.#state();
			if (state.dismissed.has(id) === dismissed) return;
			const line: AlertLine = { format: 1, time, type: dismissed ? 'dismissed' : 'restored', id };
			await appendAnnotation(this.#folder, alertsFile, [line]);
		});
	}

	async #state(): Promise<AlertState> {
		for (;;) {
			const lines = await this.#tail.read();
			if (lines === null) break;
			if (lines === 'replaced') {
				this.#tail = new LineTail(this.#folder, alertsFile);
				this.#alerts.clear();
				this.#dismissed.clear();
				this.#of = null;
				continue;
			}
			for (const line of lines) {
				const decoded = decode(alertLineSchema, parseLine(line));
				if (decoded.ok) this.#take(decoded.value);
			}
		}
		return {
			alerts: [...this.#alerts.values()],
			dismissed: new Set(this.#dismissed),
			of: this.#of,
			extent: this.#extent,
		};
	}

	#take(line: AlertLine): void {
		switch (line.type) {
			case 'begin':
				this.#alerts.clear();
				this.#of = null;
				break;
			case 'alert':
				if (this.#alerts.size < maxAlerts || this.#alerts.has(line.alert.id))
					this.#alerts.set(line.alert.id, line.alert);
				this.#of = null;
				break;
			case 'diagnosed':
				this.#of = line.of;
				this.#extent = line.batches === undefined ? null : { batches: line.batches, unsampled: line.unsampled ?? 0 };
				break;
			case 'dismissed':
				if (this.#dismissed.size < maxAlerts) this.#dismissed.add(line.id);
				break;
			case 'restored':
				this.#dismissed.delete(line.id);
				break;
		}
	}
}

/** Returns the lines to append so that the file contains these alerts; empty if it already does. */
function linesFor(
	state: AlertState,
	alerts: readonly Alert[],
	time: number,
	of: string | null,
	extent: DiagnosisExtent,
): AlertLine[] {
	const known = new Map(state.alerts.map((alert) => [alert.id, JSON.stringify(alert)]));
	const wanted = new Set(alerts.map(({ id }) => id));
	const restart = state.alerts.some(({ id }) => !wanted.has(id));
	const changed = restart ? alerts : alerts.filter((alert) => known.get(alert.id) !== JSON.stringify(alert));
	const lines: AlertLine[] = restart ? [{ format: 1, time, type: 'begin' }] : [];
	for (const alert of changed) lines.push({ format: 1, time, type: 'alert', alert });
	if (of !== null && (of !== state.of || lines.length > 0))
		lines.push({ format: 1, time, type: 'diagnosed', of, ...extent });
	return lines;
}
