import type { IDisposable } from '../../src/base/disposable.ts';

/** Delay after the last keystroke before typed values take effect. */
const typingMs = 200;

/** Values that the user is still typing. Delivers all of them together after a pause. */
export class Typing<T extends object> implements IDisposable {
	readonly #deliver: (typed: Partial<T>) => void;
	#pending: Partial<T> = {};
	#timer: ReturnType<typeof setTimeout> | undefined;

	constructor(deliver: (typed: Partial<T>) => void) {
		this.#deliver = deliver;
	}

	/** Typed values that have not been delivered yet. A redraw must not replace them. */
	get pending(): Readonly<Partial<T>> {
		return this.#pending;
	}

	get isPending(): boolean {
		return this.#timer !== undefined;
	}

	put(typed: Partial<T>): void {
		clearTimeout(this.#timer);
		this.#pending = { ...this.#pending, ...typed };
		this.#timer = setTimeout(() => {
			const pending = this.#pending;
			this.dispose();
			this.#deliver(pending);
		}, typingMs);
	}

	/** Discards input that has not been delivered yet. */
	dispose(): void {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		this.#pending = {};
	}
}
