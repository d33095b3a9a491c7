/** Anything that holds a resource which must be given back. */
export interface IDisposable {
	dispose(): void;
}

/** Wraps a function so that it runs once, at the first `dispose`. */
export function toDisposable(release: () => void): IDisposable {
	let done = false;
	return {
		dispose() {
			if (done) return;
			done = true;
			release();
		},
	};
}

/** Holds disposables and releases them in reverse order; adding to a disposed store releases at once. */
export class DisposableStore implements IDisposable {
	#items = new Set<IDisposable>();
	#disposed = false;

	get disposed(): boolean {
		return this.#disposed;
	}

	add<T extends IDisposable>(item: T): T {
		if (this.#disposed) item.dispose();
		else this.#items.add(item);
		return item;
	}

	delete(item: IDisposable): void {
		if (this.#items.delete(item)) item.dispose();
	}

	clear(): void {
		const items = [...this.#items].reverse();
		this.#items.clear();
		const failures: unknown[] = [];
		for (const item of items) {
			try {
				item.dispose();
			} catch (error) {
				failures.push(error);
			}
		}
		if (failures.length > 0) throw new AggregateError(failures, 'Disposal failed');
	}

	dispose(): void {
		if (this.#disposed) return;
		this.#disposed = true;
		this.clear();
	}
}

/** Base of everything that registers: `this.register(x)` ties x's life to the object's. */
export abstract class Disposable implements IDisposable {
	readonly #store = new DisposableStore();

	get disposed(): boolean {
		return this.#store.disposed;
	}

	protected register<T extends IDisposable>(item: T): T {
		return this.#store.add(item);
	}

	dispose(): void {
		this.#store.dispose();
	}
}
