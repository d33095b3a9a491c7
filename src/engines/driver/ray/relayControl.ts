import { Failure } from '../../../base/failure.ts';
import type { ControlMethod, ControlParams, ControlResult } from '../../../protocol/control.ts';
import { pause } from '../../../rpc/pause.ts';
import { isFinal, type JobRequest, type JobsApi } from './jobsApi.ts';
import { readFrame } from './logFrames.ts';
import { answeredValue, type RemoteControl } from './requestFolder.ts';

/** Maximum request size. Requests are passed on a command line, whose length is limited. */
const largestRequest = 96 << 10;

/**
 * Sends requests through small jobs when the cluster storage is not accessible from this machine. Each job writes a
 * request to the run's folder on the cluster, waits for the response and prints it.
 */
export class RelayControl implements RemoteControl {
	readonly #api: JobsApi;
	readonly #run: JobRequest;
	/** The run's job folder on the cluster. */
	readonly #folder: string;
	readonly #pollMs: number;
	#count = 0;

	/** @param run the run's job, whose package and environment the relay jobs use */
	constructor(api: JobsApi, run: JobRequest, folder: string, pollMs = 1000) {
		this.#api = api;
		this.#run = run;
		this.#folder = folder;
		this.#pollMs = pollMs;
	}

	async ask<M extends ControlMethod>(
		method: M,
		params: ControlParams<M>,
		signal: AbortSignal,
	): Promise<ControlResult<M>> {
		const text = JSON.stringify({ folder: this.#folder, method, params });
		const encoded = Buffer.from(text, 'utf8').toString('base64');
		if (encoded.length > largestRequest) {
			throw new Failure(
				'unsupported',
				`The ${method} request is ${text.length} characters long, which exceeds the limit for a cluster whose storage is not accessible from this machine.`,
				'Request less data, or set ray.storage to a folder that this machine can also access.',
			);
		}
		const id = `${this.#run.submission_id}-ask-${Date.now().toString(36)}-${++this.#count}`;
		await this.#api.submit(
			{
				...this.#run,
				submission_id: id,
				entrypoint: `python -m reasoning_lab_trainer.ray.relay ${encoded}`,
				metadata: { ...this.#run.metadata, kind: 'control' },
			},
			signal,
		);
		try {
			for (;;) {
				if (signal.aborted) throw new Failure('cancelled', 'Canceled.');
				await pause(this.#pollMs, signal);
				const job = await this.#api.job(id, signal);
				if (job === null) throw new Failure('unavailable', `The cluster lost the ${method} request.`);
				if (!isFinal(job.status)) continue;
				for (const line of (await this.#api.logs(id, signal)).split('\n')) {
					const frame = readFrame(line);
					if (frame?.k === 'answer') return answeredValue(method, frame.answer);
				}
				throw new Failure('unavailable', `The cluster did not respond to ${method}: ${job.message ?? job.status}.`);
			}
		} finally {
			if (signal.aborted) await this.#api.stop(id).catch(() => undefined);
		}
	}
}
