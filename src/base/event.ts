import { type IDisposable, toDisposable } from './disposable.ts';

export type Listener<T> = (value: T) => void;

/** Subscribes a listener and returns a disposable that unsubscribes it. Shape-compatible with `vscode.Event`. */
export type Event<T> = (listener: Listener<T>) => IDisposable;

/** A typed event source. If a listener throws, the error goes to `onError` and the remaining listeners still run. */
export class Emitter<T> implements IDisposable {
	#listeners = new Set<Listener<T>>();
	readonly #onError: (error: unknown) => void;

	constructor(
		onError: (error: unknown) => void = (error) => {
			throw error;
		},
	) {
		this.#onError = onError;
	}

	readonly event: Event<T> = (listener) => {
		const entry: Listener<T> = (value) => listener(value);
		this.#listeners.add(entry);
		return toDisposable(() => this.#listeners.delete(entry));
	};

	fire(value: T): void {
		for (const listener of [...this.#listeners]) {
			try {
				listener(value);
			} catch (error) {
				this.#onError(error);
			}
		}
	}

	dispose(): void {
		this.#listeners.clear();
	}
}
