import { Disposable, type IDisposable } from '../base/disposable.ts';

/** Something that is loaded once, on first use, so that activation stays short. A failed load is tried again at the next use. */
export class Lazy<T extends IDisposable> extends Disposable {
	readonly #load: () => Promise<T>;
	#value: Promise<T> | null = null;

	constructor(load: () => Promise<T>) {
		super();
		this.#load = load;
	}

	/** Whether it is loaded, or being loaded. */
	get begun(): boolean {
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
