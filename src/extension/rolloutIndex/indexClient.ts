import { Disposable } from '../../base/disposable.ts';
import { Emitter } from '../../base/event.ts';
import type { Schema } from '../../protocol/decode.ts';
import {
	type LabMethod,
	type LabNews,
	type LabParams,
	type LabResult,
	labNotifications,
	labRequests,
} from '../../protocol/lab.ts';
import { WorkerClient } from '../workerClient.ts';

export interface LabClientOptions {
	/** dist/lab.js, or src/lab/main.ts. */
	readonly program: string;
	/** Program that runs it; default: this one, as Node. */
	readonly node?: () => string | null;
	/** Folder of the index; null: it is kept in memory. */
	readonly storage: string | null;
	readonly log: (message: string) => void;
	/** How often the worker looks at the runs for news, in ms. */
	readonly lookEveryMs?: number;
}

/** The lab worker of this window; see {@link WorkerClient}. It is told again after every start which runs there are. */
export class LabClient extends Disposable {
	readonly #worker: WorkerClient;
	readonly #progress = this.register(new Emitter<LabNews<'progress'>>());
	readonly #hits = this.register(new Emitter<LabNews<'hits'>>());
	#runs: readonly string[] | null = null;
	readonly onProgress = this.#progress.event;
	readonly onHits = this.#hits.event;
	/** The worker is gone: what it told of progress holds no longer. */
	readonly onEnded: WorkerClient['onEnded'];

	constructor({ program, node, storage, log, lookEveryMs }: LabClientOptions) {
		super();
		this.#worker = this.register(
			new WorkerClient({
				program,
				args: [
					...(storage === null ? [] : ['--storage', storage]),
					...(lookEveryMs === undefined ? [] : ['--look-every', String(lookEveryMs)]),
				],
				node,
				log,
				name: 'lab worker',
				results: Object.fromEntries(
					Object.entries(labRequests).map(([method, { result }]) => [method, result as Schema<unknown>]),
				),
				notifications: labNotifications as unknown as Record<string, Schema<unknown>>,
			}),
		);
		this.onEnded = this.#worker.onEnded;
		this.#worker.onStarted(() => this.#tellRuns());
		this.#worker.onNews(({ name, params }) => {
			if (name === 'progress') this.#progress.fire(params as LabNews<'progress'>);
			else if (name === 'hits') this.#hits.fire(params as LabNews<'hits'>);
		});
	}

	/** The worker's process, while there is one. */
	get pid(): number | null {
		return this.#worker.pid;
	}

	/** The runs that the worker shall know, from now on and after every start; it is not started for that. */
	setRuns(runs: readonly string[]): void {
		if (this.#runs !== null && runs.length === this.#runs.length && runs.every((run, i) => run === this.#runs?.[i]))
			return;
		this.#runs = [...runs];
		if (this.#worker.pid !== null) this.#tellRuns();
	}

	request<M extends LabMethod>(method: M, params: LabParams<M>, signal?: AbortSignal): Promise<LabResult<M>> {
		return this.#worker.request(method, params, signal) as Promise<LabResult<M>>;
	}

	#tellRuns(): void {
		if (this.#runs !== null) void this.request('setRuns', { runs: [...this.#runs] }).catch(() => undefined);
	}
}
