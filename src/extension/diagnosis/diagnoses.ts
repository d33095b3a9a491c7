import { Sequencer } from '../../base/async.ts';
import { Disposable, type IDisposable, toDisposable } from '../../base/disposable.ts';
import { RunDiagnosis, type RunDiagnosisOptions } from './runDiagnosis.ts';

/** A reference to a run's diagnosis. The run is diagnosed while at least one lease exists. */
export interface DiagnosisLease extends IDisposable {
	readonly diagnosis: RunDiagnosis;
}

/** The diagnoses in this window, at most one per run. */
export class Diagnoses extends Disposable {
	readonly #options: Omit<RunDiagnosisOptions, 'turns'>;
	readonly #turns = new Sequencer();
	readonly #entries = new Map<string, { readonly diagnosis: RunDiagnosis; users: number }>();

	constructor(options: Omit<RunDiagnosisOptions, 'turns'>) {
		super();
		this.#options = options;
		this.register(
			toDisposable(() => {
				for (const { diagnosis } of this.#entries.values()) diagnosis.dispose();
				this.#entries.clear();
			}),
		);
	}

	lease(folder: string): DiagnosisLease {
		let entry = this.#entries.get(folder);
		if (entry === undefined) {
			entry = { diagnosis: new RunDiagnosis(folder, { ...this.#options, turns: this.#turns }), users: 0 };
			this.#entries.set(folder, entry);
		}
		const leased = entry;
		leased.users++;
		let held = true;
		return {
			diagnosis: leased.diagnosis,
			dispose: () => {
				if (!held) return;
				held = false;
				if (--leased.users > 0) return;
				leased.diagnosis.dispose();
				if (this.#entries.get(folder) === leased) this.#entries.delete(folder);
			},
		};
	}
}
