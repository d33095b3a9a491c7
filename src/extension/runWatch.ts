import { type FSWatcher, watch } from 'node:fs';
import { Disposable, toDisposable } from '../base/disposable.ts';
import { type RunView, sameView } from './runView.ts';

/** Minimum interval between checks, which limits them to two per second; also used as the polling interval. */
const pauseMs = 500;
const pollMs = 2000;

/** Follows a live run for the lists. File events provide fast updates; polling catches missed events. */
export class RunWatch extends Disposable {
	readonly #folder: string;
	readonly #load: (folder: string) => Promise<RunView>;
	readonly #tell: (view: RunView) => void;
	#watcher: FSWatcher | null = null;
	#timer: NodeJS.Timeout | null = null;
	#last: RunView;
	#looked = 0;
	#looking = false;

	/**
	 * @param load reads a run; never fails
	 * @param notify called with each snapshot that differs from the previous one
	 */
	constructor(view: RunView, load: (folder: string) => Promise<RunView>, notify: (view: RunView) => void) {
		super();
		this.#load = load;
		this.#folder = view.folder;
		this.#last = view;
		this.#tell = notify;
		this.register(
			toDisposable(() => {
				this.#watcher?.close();
				if (this.#timer !== null) clearTimeout(this.#timer);
			}),
		);
		this.#watch();
		this.#schedule(pauseMs);
	}

	/** Schedules a check as soon as the interval allows. */
	stir(): void {
		if (this.#looking) return;
		this.#schedule(Math.max(0, pauseMs - (Date.now() - this.#looked)));
	}

	#watch(): void {
		try {
			this.#watcher = watch(this.#folder, { persistent: false }, () => this.stir());
			this.#watcher.on('error', () => this.#watcher?.close());
		} catch {
			// Polling continues.
		}
	}

	#schedule(delay: number): void {
		if (this.disposed) return;
		if (this.#timer !== null) clearTimeout(this.#timer);
		this.#timer = setTimeout(() => void this.#look(), delay);
	}

	async #look(): Promise<void> {
		this.#looking = true;
		const view = await this.#load(this.#folder);
		this.#looking = false;
		this.#looked = Date.now();
		if (this.disposed) return;
		if (!sameView(view, this.#last)) {
			this.#last = view;
			this.#tell(view);
		}
		this.#schedule(pollMs);
	}
}
