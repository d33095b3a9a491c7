import { Disposable, type IDisposable } from '../base/disposable.ts';

/** A value loaded on first use, which keeps activation fast. A failed load is retried on the next use. */
export class Lazy<T extends IDisposable> extends Disposable {
	readonly #load: () => Promise<T>;
	#value: Promise<T> | null = null;

	constructor(load: () => Promise<T>) {
		super();
		this.#load = load;
	}

	/** Whether the value is loaded or being loaded. */
	get isLoaded(): boolean {
		return this.#value !== null;
	}

	get(): Promise<T> {
		this.#value ??= this.#begin();
		return this.#value;
	}

	#begin(): Promise<T> {
		const loading = this.#load().then((value) => this.register(value));
		loading.catch(() => {
			this.#value = null;
		});
		return loading;
	}
}
