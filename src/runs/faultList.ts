import type { RunFault } from './runContent.ts';

/** Maximum number of faults kept with their messages; beyond that, only counts per file are kept. */
const maxKept = 10_000;
/** Maximum number of additional faults tracked individually, so that repeated ones are counted once. */
const maxListed = 1_000_000;

/** Collects what could not be read in a run, counting each fault once no matter how often it occurs. */
export class FaultList {
	readonly #kept = new Map<string, RunFault>();
	readonly #beyond = new Map<string, { readonly met: Set<string>; records: number }>();
	#apart = 0;
	#all: readonly RunFault[] | null = null;

	get all(): readonly RunFault[] {
		this.#all ??= [...this.#kept.values(), ...[...this.#beyond].map(beyondFault)];
		return this.#all;
	}

	/** @param item index of the rollout within the record, if several can be at fault */
	add(fault: RunFault, item = 0): RunFault {
		const about = `${fault.line ?? ''}\n${fault.line === null ? fault.message : ''}\n${item}`;
		const key = `${fault.file}\n${about}`;
		if (this.#kept.has(key) || this.#kept.size < maxKept) {
			this.#kept.set(key, fault);
			this.#all = null;
		} else this.#count(fault, about);
		return fault;
	}

	/** Clears the faults of a file that is being reread from the start or no longer exists. */
	forget(file: string): void {
		for (const [key, fault] of this.#kept) if (fault.file === file) this.#kept.delete(key);
		this.#apart -= this.#beyond.get(file)?.met.size ?? 0;
		this.#beyond.delete(file);
		this.#all = null;
	}

	#count({ file, records }: RunFault, about: string): void {
		let counted = this.#beyond.get(file);
		if (counted === undefined) {
			counted = { met: new Set(), records: 0 };
			this.#beyond.set(file, counted);
		}
		if (counted.met.has(about)) return;
		if (this.#apart < maxListed) {
			counted.met.add(about);
			this.#apart++;
		}
		counted.records += records;
		this.#all = null;
	}
}

/** Where the faults of files are reported. */
export type FaultSink = Pick<FaultList, 'add' | 'forget'>;

/** Holds faults back, so that files that are read at the same time are reported in order. */
export class HeldFaults implements FaultSink {
	readonly #reports: ((faults: FaultList) => void)[] = [];

	add(fault: RunFault, item = 0): RunFault {
		this.#reports.push((faults) => faults.add(fault, item));
		return fault;
	}

	forget(file: string): void {
		this.#reports.push((faults) => faults.forget(file));
	}

	/** Reports what has been held since the last call. */
	release(faults: FaultList): void {
		for (const report of this.#reports.splice(0)) report(faults);
	}
}

function beyondFault([file, { records }]: [string, { readonly records: number }]): RunFault {
	return { file, line: null, message: 'has more unreadable records', records };
}
