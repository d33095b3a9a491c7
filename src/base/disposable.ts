/** An object that owns a resource and releases it on `dispose`. */
export interface IDisposable {
	dispose(): void;
}

/** Wraps a function so that only the first `dispose` calls it. */
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

/** A set of disposables, released in reverse order. Adding to a disposed store disposes the item immediately. */
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

/** Base class for objects that own disposables: `this.register(x)` disposes x together with the object. */
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
