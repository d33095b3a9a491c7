import type { RunFault } from '../runContent.ts';

/** Faults that are kept; of what is beyond, only the number. */
const mostKept = 10_000;

/** What could not be read of a run, each once however often it is met. */
export class FaultList {
	readonly #kept = new Map<string, RunFault>();
	#all: readonly RunFault[] | null = null;

	get all(): readonly RunFault[] {
		this.#all ??= [...this.#kept.values()];
		return this.#all;
	}

	add(fault: RunFault): RunFault {
		const key = `${fault.file}\n${fault.line ?? ''}\n${fault.line === null ? fault.message : ''}`;
		if (this.#kept.has(key) || this.#kept.size < mostKept) {
			this.#kept.set(key, fault);
			this.#all = null;
		}
		return fault;
	}

	/** A file is read from its beginning again, or is gone. */
	forget(file: string): void {
		for (const [key, fault] of this.#kept) if (fault.file === file) this.#kept.delete(key);
		this.#all = null;
	}
}
