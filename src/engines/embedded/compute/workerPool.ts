import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { type Deferred, deferred } from '../../../base/async.ts';
import { Failure } from '../../../base/failure.ts';
import type { DeviceTraffic } from '../learner.ts';
import type { Job, JobResults, Reply } from './jobs.ts';

export interface Dispatch<J extends Job> {
	readonly job: J;
	/** Buffers to transfer to the worker instead of copying. */
	readonly transfer: readonly ArrayBuffer[];
}

const noTraffic: DeviceTraffic = { bytesUp: 0, bytesDown: 0, dispatches: 0 };

function added(a: DeviceTraffic, b: DeviceTraffic): DeviceTraffic {
	return {
		bytesUp: a.bytesUp + b.bytesUp,
		bytesDown: a.bytesDown + b.bytesDown,
		dispatches: a.dispatches + b.dispatches,
	};
}

interface Task {
	readonly make: () => Dispatch<Job>;
	readonly done: Deferred<JobResults[Job['kind']]>;
}

interface Member {
	readonly worker: Worker;
	task: { readonly id: number; readonly done: Task['done'] } | null;
}

/**
 * Minimum size of a worker's old generation before V8 collects it. By default, collection starts close to the 10 MB
 * that a worker always needs, and happens once per batch, in threads that use up to a third of the sampling time. This
 * cannot be set for a single worker, so it applies to every worker that the process creates later.
 */
const initialHeapMegabytes = 64;

/**
 * Worker threads that take jobs from a shared queue. If a worker dies, all jobs fail, because its sessions are lost.
 */
export class WorkerPool {
	readonly #members: Member[] = [];
	readonly #script: URL;
	#queue: Task[] = [];
	#next = 1;
	#failure: Failure | null = null;
	#closing = false;
	#traffic: DeviceTraffic = noTraffic;

	constructor(script: URL) {
		this.#script = script;
	}

	get size(): number {
		return this.#members.length;
	}

	add(): void {
		setFlagsFromString(`--initial-old-space-size=${initialHeapMegabytes}`);
		const worker = new Worker(this.#script, { name: `compute ${this.#members.length}` });
		const member: Member = { worker, task: null };
		worker.on('message', (reply: Reply) => this.#settle(member, reply));
		worker.on('error', (error) => this.#fail(error));
		worker.on('exit', (code) => this.#fail(new Error(`exit code ${code}`)));
		this.#members.push(member);
		this.#pump();
	}

	/** Queues a job. `make` is called when a worker takes it from the queue. */
	run<J extends Job>(make: () => Dispatch<J>): Promise<JobResults[J['kind']]> {
		const task: Task = { make, done: deferred() };
		this.#queue.push(task);
		this.#pump();
		return task.done.promise as Promise<JobResults[J['kind']]>;
	}

	/** Runs a job on all workers except the first. */
	broadcast<J extends Job>(job: J): Promise<JobResults[J['kind']][]> {
		return Promise.all(
			this.#members.slice(1).map((member) => {
				const task: Task = { make: () => ({ job, transfer: [] }), done: deferred() };
				this.#start(member, task);
				return task.done.promise as Promise<JobResults[J['kind']]>;
			}),
		);
	}

	/** Returns the device traffic since the last call. */
	takeTraffic(): DeviceTraffic {
		const traffic = this.#traffic;
		this.#traffic = noTraffic;
		return traffic;
	}

	async close(): Promise<void> {
		this.#closing = true;
		this.#fail(new Failure('cancelled', 'The learner was disposed.'));
		await Promise.all(this.#members.map((member) => member.worker.terminate()));
	}

	#pump(): void {
		if (this.#failure) {
			for (const task of this.#queue.splice(0)) task.done.reject(this.#failure);
			return;
		}
		for (const member of this.#members) {
			if (member.task !== null) continue;
			const task = this.#queue.shift();
			if (task === undefined) return;
			this.#start(member, task);
		}
	}

	#start(member: Member, task: Task): void {
		const id = this.#next++;
		member.task = { id, done: task.done };
		try {
			const { job, transfer } = task.make();
			member.worker.postMessage({ id, job }, transfer as ArrayBuffer[]);
		} catch (error) {
			member.task = null;
			task.done.reject(error);
			this.#pump();
		}
	}

	#settle(member: Member, reply: Reply): void {
		const task = member.task;
		if (task === null || task.id !== reply.id) return;
		member.task = null;
		this.#pump();
		if ('result' in reply && reply.traffic !== undefined) this.#traffic = added(this.#traffic, reply.traffic);
		if ('result' in reply) task.done.resolve(reply.result);
		else task.done.reject(Failure.of(reply.failure));
	}

	#fail(error: unknown): void {
		if (this.#failure) return;
		this.#failure = this.#closing
			? Failure.from(error)
			: new Failure(
					'internal',
					`A compute worker exited: ${error instanceof Error ? error.message : String(error)}.`,
					'Resume the run from its last checkpoint. If memory is low, use fewer workers or smaller batches.',
					{ cause: error },
				);
		for (const member of this.#members) {
			member.task?.done.reject(this.#failure);
			member.task = null;
		}
		this.#pump();
	}
}
