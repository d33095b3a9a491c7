import { spawnSync } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import * as v from 'valibot';
import { parseBoundedJson } from '../../../base/boundedJson.ts';
import { Failure } from '../../../base/failure.ts';
import { Redactor } from '../../../base/redactor.ts';
import { clusterCommand, localPort } from '../../../environment/localCluster.ts';
import { decode } from '../../../protocol/decode.ts';
import type { Cluster } from './clusterAddress.ts';
import { type PlainResponse, plainRequest, TooLarge } from './plainRequest.ts';

/** Ray job states (`ray.job_submission.JobStatus`). The last three are final. */
export const jobStates = ['PENDING', 'RUNNING', 'STOPPED', 'SUCCEEDED', 'FAILED'] as const;
export type JobState = (typeof jobStates)[number];
export const isFinal = (state: JobState): boolean => state !== 'PENDING' && state !== 'RUNNING';

const jobSchema = v.looseObject({
	status: v.picklist(jobStates),
	submission_id: v.nullish(v.string()),
	message: v.nullish(v.string()),
	error_type: v.nullish(v.string()),
	driver_exit_code: v.nullish(v.number()),
	driver_node_id: v.nullish(v.string()),
});
export type JobInfo = v.InferOutput<typeof jobSchema>;

export interface JobRequest {
	readonly entrypoint: string;
	readonly submission_id: string;
	readonly runtime_env: Readonly<Record<string, unknown>>;
	readonly metadata: Readonly<Record<string, string>>;
}

const versionSchema = v.looseObject({ ray_version: v.string() });
const logsSchema = v.looseObject({ logs: v.string() });
const stoppedSchema = v.looseObject({ stopped: v.boolean() });

/** Request timeouts in milliseconds. Job submission waits for the cluster's agents. */
const patience = { usual: 30_000, submit: 120_000, upload: 600_000, last: 5000 };
/** Returns whether a submission failed because none of the cluster's agents can accept jobs yet (ray/dashboard/modules/job/job_head.py). */
const isAgentMissing = (error: unknown): boolean =>
	error instanceof Failure && error.reason === 'unavailable' && error.message.includes('No available agent');
/** Interval between submissions to a cluster whose agents are not ready yet. */
const agentRetryMs = 1000;
/** Maximum number of characters read from an error response. */
const longestWords = 2000;
/** Maximum response size. Logs are returned as a single string. */
const largestAnswer = 512 << 20;

/**
 * Client for the Jobs API of a Ray cluster, served by its dashboard (`ray[default]`):
 * ray/dashboard/modules/job/job_head.py. Only contacts the address given by the user and does not follow redirects.
 */
export class JobsApi {
	readonly cluster: Cluster;
	/** Redacts credentials in responses from the cluster. */
	readonly redactor: Redactor;

	constructor(cluster: Cluster) {
		this.cluster = cluster;
		const sent = Object.values(cluster.headers);
		this.redactor = new Redactor(sent.flatMap((value) => [value, value.replace(/^\w+ +/, '')]));
	}

	/** Returns the Ray version. Also verifies that the address is a cluster that accepts jobs. */
	async version(signal?: AbortSignal): Promise<string> {
		const answer = await this.#ask('GET', '/api/version', { signal });
		return this.#read(answer, versionSchema).ray_version;
	}

	/**
	 * Returns whether the cluster has a package. If so, the cluster also keeps it for a while.
	 * @param name `_ray_pkg_<hash>.zip`
	 */
	async hasPackage(name: string, signal?: AbortSignal): Promise<boolean> {
		return (await this.#ask('GET', `/api/packages/gcs/${name}`, { signal, allow: [404] })).status === 200;
	}

	async putPackage(name: string, bytes: Buffer, signal?: AbortSignal): Promise<void> {
		await this.#ask('PUT', `/api/packages/gcs/${name}`, { body: bytes, signal, patienceMs: patience.upload });
	}

	async submit(request: JobRequest, signal?: AbortSignal): Promise<void> {
		const body = JSON.stringify(request);
		const deadline = Date.now() + patience.submit;
		for (;;) {
			try {
				await this.#ask('POST', '/api/jobs/', { body, signal, patienceMs: patience.submit });
				return;
			} catch (error) {
				// A cluster that has just started rejects jobs until its first agent is ready. The submission ID keeps
				// a repeated request from starting a second job.
				if (!isAgentMissing(error) || Date.now() > deadline) throw error;
				await pause(agentRetryMs, undefined, { signal }).catch(() => {
					throw new Failure('cancelled', 'Canceled.');
				});
			}
		}
	}

	/** Returns null if the cluster does not know the job. */
	async job(id: string, signal?: AbortSignal): Promise<JobInfo | null> {
		const answer = await this.#ask('GET', `/api/jobs/${encodeURIComponent(id)}`, { signal, allow: [404] });
		return answer.status === 404 ? null : this.#read(answer, jobSchema);
	}

	/** Returns all job output so far. */
	async logs(id: string, signal?: AbortSignal): Promise<string> {
		const patienceMs = patience.upload;
		const answer = await this.#ask('GET', `/api/jobs/${encodeURIComponent(id)}/logs`, { signal, patienceMs });
		return this.#read(answer, logsSchema).logs;
	}

	/**
	 * Stops a job by signaling its processes, which are killed soon after. Returns false if the job has ended or is
	 * unknown.
	 */
	async stop(id: string, signal?: AbortSignal): Promise<boolean> {
		const answer = await this.#ask('POST', `/api/jobs/${encodeURIComponent(id)}/stop`, { signal, allow: [404] });
		return answer.status === 404 ? false : this.#read(answer, stoppedSchema).stopped;
	}

	/** Like `stop`, but for a process that is exiting. Waits at most a few seconds and returns no result. */
	stopBeforeExit(id: string): void {
		const { address, headers } = this.cluster;
		const url = `${address}/api/jobs/${encodeURIComponent(id)}/stop`;
		const script = `const { request } = await import(process.env.ASK_URL.startsWith('https') ? 'node:https' : 'node:http');
request(process.env.ASK_URL, { method: 'POST', headers: JSON.parse(process.env.ASK_HEADERS) }, (answer) => answer.resume()).on('error', () => {}).end();`;
		spawnSync(process.execPath, ['--input-type=module', '-e', script], {
			env: { ...process.env, ASK_URL: url, ASK_HEADERS: JSON.stringify(headers) },
			stdio: 'ignore',
			timeout: patience.last,
		});
	}

	/** Returns the WebSocket URL that streams the log line by line. */
	tailAddress(id: string): string {
		return `${this.cluster.address}/api/jobs/${encodeURIComponent(id)}/logs/tail`;
	}

	async #ask(
		method: string,
		path: string,
		options: {
			readonly body?: string | Buffer;
			readonly signal?: AbortSignal | undefined;
			readonly allow?: readonly number[];
			readonly patienceMs?: number;
		},
	): Promise<PlainResponse> {
		const { address, headers } = this.cluster;
		const { body, signal } = options;
		const timeout = AbortSignal.timeout(options.patienceMs ?? patience.usual);
		let answer: PlainResponse;
		try {
			answer = await plainRequest(address + path, {
				method,
				headers: typeof body === 'string' ? { ...headers, 'Content-Type': 'application/json' } : headers,
				...(body === undefined ? {} : { body }),
				signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
				largest: largestAnswer,
			});
		} catch (error) {
			if (signal?.aborted) throw new Failure('cancelled', 'Canceled.');
			if (error instanceof TooLarge) {
				throw new Failure(
					'full',
					`The request to the Ray cluster at ${address} failed: ${error.message} (${method} ${path}).`,
				);
			}
			const why = timeout.aborted ? 'timed out' : causeOf(error);
			throw new Failure(
				'unavailable',
				`Cannot reach the Ray cluster at ${address}: ${why}.`,
				localAdvice(address, error) ??
					'Check the address, and make sure the cluster is running with its dashboard (pip install "ray[default]").',
				{ cause: error },
			);
		}
		const { status } = answer;
		if ((status >= 200 && status < 300) || options.allow?.includes(status)) return answer;
		throw this.#refused(answer, `${method} ${path}`);
	}

	#refused({ status, body }: PlainResponse, what: string): Failure {
		const { address, withheld = false } = this.cluster;
		if (status >= 300 && status < 400) {
			return new Failure(
				'denied',
				`${address} redirects to another address. Redirects are not followed.`,
				'Use the final dashboard address, or open a tunnel to it.',
			);
		}
		const words = this.redactor.text(lastLine(body.toString('utf8')));
		if (status === 401 || status === 403) {
			return new Failure(
				'denied',
				`The Ray cluster at ${address} rejected the request: ${words || `status ${status}`}.`,
				withheld
					? `If your credentials belong to this cluster, set RAY_ADDRESS=${address}. Credentials are not sent to an address that appears only in a recipe.`
					: 'Set RAY_AUTH_TOKEN to the cluster token.',
			);
		}
		if (status === 404) {
			return new Failure(
				'unsupported',
				`${address} does not support ${what} because it has no Jobs API.`,
				'Use the cluster’s dashboard address, and install "ray[default]" on the cluster.',
			);
		}
		const reason = status >= 500 || status === 429 ? 'unavailable' : 'invalid';
		return new Failure(
			reason,
			`The Ray cluster at ${address} returned status ${status} for ${what}: ${words}.`,
			'Check the dashboard and job agent logs, then resume the run.',
		);
	}

	#read<T>({ body }: PlainResponse, schema: v.GenericSchema<unknown, T>): T {
		let value: unknown;
		try {
			value = this.redactor.value(parseBoundedJson(body.toString('utf8')));
		} catch (error) {
			throw new Failure(
				'unavailable',
				`${this.cluster.address} returned a response that is not JSON.`,
				'Make sure this is the dashboard address of a Ray cluster.',
				{ cause: error },
			);
		}
		const decoded = decode(schema, value);
		if (decoded.ok) return decoded.value;
		throw new Failure(
			'version',
			`${this.cluster.address} returned an unexpected Jobs API response: ${decoded.faults[0]?.message}.`,
			'Only the Jobs API of Ray 2.x is supported.',
		);
	}
}

/**
 * Returns advice if no cluster is running at a local address, or null if the address is remote or something is
 * listening there.
 */
function localAdvice(address: string, error: unknown): string | null {
	const port = localPort(address);
	if (port === null || (error as { code?: string }).code !== 'ECONNREFUSED') return null;
	return `To start a cluster on this machine, run "${clusterCommand(port)}" (after pip install "ray[default,train]"). To stop it, run "ray stop".`;
}

function causeOf(error: unknown): string {
	const { code, message } = error as { code?: string; message?: string };
	if (code === 'ECONNREFUSED') return 'connection refused';
	if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'unknown host';
	if (code === 'ECONNRESET' || code === 'EPIPE') return 'connection lost';
	return (message || code || String(error)).replace(/\.$/, '');
}

/** Returns the last line, because error responses are often Python stack traces that end with the reason. */
function lastLine(text: string): string {
	const lines = text.slice(-longestWords).split('\n');
	return (lines.findLast((line) => line.trim() !== '') ?? '').trim().replace(/\.$/, '');
}
