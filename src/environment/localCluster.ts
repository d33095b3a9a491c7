import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { request } from 'node:http';
import { connect } from 'node:net';
import { delimiter, dirname, join } from 'node:path';
import * as v from 'valibot';
import { Failure } from '../base/failure.ts';
import { ensureFolder, writeFileAtomic } from '../files/atomicFile.ts';
import { openToAppend, readJson, readNamed } from '../files/safeFile.ts';
import { bootId, ownIdentity, processStart, processState } from '../processes/processIdentity.ts';
import { ProcessTree } from '../processes/processTree.ts';
import { environmentWith } from '../processes/runProgram.ts';
import { decode } from '../protocol/decode.ts';
import { labHome } from '../runs/runRegistry.ts';

/** Default address of the Ray dashboard. */
export const defaultClusterAddress = 'http://127.0.0.1:8265';

const files = { record: 'cluster.json', log: 'cluster.log' } as const;

const recordSchema = v.object({
	format: v.literal(1),
	host: v.string(),
	boot: v.string(),
	pid: v.number(),
	processStart: v.string(),
	/** Environment variable set in every process of the cluster. */
	marker: v.pipe(v.string(), v.regex(/^REASONING_LAB_RAY=[0-9a-f]{24}$/)),
	address: v.string(),
});
type ClusterRecord = v.InferOutput<typeof recordSchema>;

const variables = {
	RAY_ADDRESS: undefined,
	RAY_USAGE_STATS_ENABLED: '0',
	// Binds all Ray servers to loopback on every platform. Otherwise, Ray replaces 127.0.0.1 with the machine's address.
	RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER: '0',
};

/** Time limits for Ray to start accepting jobs and for its processes to exit on their own, in milliseconds. */
const startMs = 180_000;
const stopMs = 10_000;

export interface ClusterStart {
	/** Python interpreter of an environment with `ray[default,train]`. */
	readonly python: string;
	/** Cluster address on this machine, as in the recipe. */
	readonly address: string;
	/** Folder that contains the Node executable used to run the job's driver; null if Node is on PATH. */
	readonly nodeFolder: string | null;
	readonly signal?: AbortSignal;
}

/** Returns the port of an http address on this machine, or null for any other address. */
export function localPort(address: string): number | null {
	if (!URL.canParse(address)) return null;
	const { protocol, hostname, port } = new URL(address);
	const local = ['localhost', '127.0.0.1', '[::1]'].includes(hostname) && protocol === 'http:';
	return local ? Number(port === '' ? 80 : port) : null;
}

/** Returns the shell command that starts a cluster with its dashboard on a local port. */
export const clusterCommand = (port: number): string => `ray start --head --dashboard-port=${port}`;

/** Returns whether something is listening at a local address. */
export function listensAt(address: string): Promise<boolean> {
	const port = localPort(address);
	if (port === null) return Promise.resolve(false);
	return new Promise((resolve) => {
		const socket = connect({ host: new URL(address).hostname.replace(/^\[|\]$/g, ''), port, timeout: 3000 });
		const end = (listens: boolean) => {
			socket.destroy();
			resolve(listens);
		};
		socket.once('connect', () => end(true));
		socket.once('error', () => end(false));
		// A connection timeout means that something is listening but not responding.
		socket.once('timeout', () => end(true));
	});
}

/**
 * A single-node Ray cluster started by the user's editor on this machine, on loopback only and without telemetry. Like
 * a run, it outlives the window that started it, and it can be stopped from any window. Clusters started by other means
 * are not touched.
 */
export class LocalCluster {
	readonly #folder: string;

	constructor(home = labHome()) {
		this.#folder = join(home, 'ray-local');
	}

	get log(): string {
		return join(this.#folder, files.log);
	}

	/** Returns the address of the running cluster started here, or null if there is none. */
	async running(): Promise<string | null> {
		return (await this.#alive())?.address ?? null;
	}

	/**
	 * Starts the cluster and resolves once it accepts jobs. Fails with `invalid` if the address is in use, `missing` if
	 * the environment lacks Ray, `unavailable` if Ray does not start, `timeout`, or `cancelled`; no processes remain
	 * after a failure.
	 */
	async start({ python, address, nodeFolder, signal }: ClusterStart): Promise<void> {
		const port = localPort(address);
		if (port === null) throw new Failure('invalid', `${address} is not an address on this machine.`);
		const before = await this.running();
		if (before !== null) {
			throw new Failure(
				'invalid',
				`A cluster started here is already running at ${before}.`,
				'Use that cluster, or stop it first.',
			);
		}
		if (await listensAt(address)) {
			throw new Failure('invalid', `${address} is already in use.`, 'Choose a different port in "ray.address".');
		}
		await ensureFolder(this.#folder);
		await rm(this.log, { force: true });
		const log = await openToAppend(this.log);
		const marker = `REASONING_LAB_RAY=${randomBytes(12).toString('hex')}`;
		const path = [dirname(python), nodeFolder, process.env.PATH].filter((part) => part).join(delimiter);
		const child = spawn(python, ['-m', 'ray.scripts.scripts', ...startArguments(port)], {
			stdio: ['ignore', log.fd, log.fd],
			// Starts a new session so that the cluster outlives this process.
			detached: true,
			windowsHide: true,
			env: {
				...environmentWith(variables),
				PATH: path,
				REASONING_LAB_RAY: marker.split('=')[1],
			},
		});
		const ended = new Promise<string>((resolve) => {
			child.once('error', ({ message }) => resolve(message));
			child.once('exit', (code, name) => resolve(`the process exited with ${name ?? `status ${code}`}`));
		});
		await log.close();
		child.unref();
		const tree = child.pid === undefined ? null : new ProcessTree(child.pid, marker);
		try {
			const why = await Promise.race([ended, this.#ready(address, signal).then(() => null)]);
			if (why !== null) throw await this.#failure(python, why);
			await this.#remember(child.pid as number, marker, address);
		} catch (error) {
			await tree?.kill();
			throw error;
		}
	}

	/** Stops the cluster started here, including all of its processes. @returns its address, or null if there was none */
	async stop(): Promise<string | null> {
		const record = await this.#alive();
		if (record === null) return null;
		try {
			process.kill(record.pid, 'SIGTERM');
		} catch {
			// Already exited.
		}
		for (const until = Date.now() + stopMs; Date.now() < until; ) {
			if ((await processState(record)) === 'dead') break;
			await pause(100);
		}
		await new ProcessTree(record.pid, record.marker).kill();
		await rm(join(this.#folder, files.record), { force: true });
		return record.address;
	}

	async #alive(): Promise<ClusterRecord | null> {
		const value = await readJson(this.#folder, files.record, 1 << 16).catch(() => null);
		const decoded = decode(recordSchema, value);
		return decoded.ok && (await processState(decoded.value)) === 'alive' ? decoded.value : null;
	}

	async #remember(pid: number, marker: string, address: string): Promise<void> {
		const start = await processStart(pid);
		if (start === null) throw new Failure('unavailable', 'Ray exited immediately after it started.');
		const { host } = await ownIdentity();
		const record: ClusterRecord = {
			...{ format: 1, host, boot: await bootId(), pid, processStart: start, marker, address },
		};
		await writeFileAtomic(join(this.#folder, files.record), JSON.stringify(record), { mode: 0o600 });
	}

	/**
	 * Waits until jobs are accepted. This requires the head node's agent to respond, which happens after the dashboard is
	 * up.
	 */
	async #ready(address: string, signal: AbortSignal | undefined): Promise<void> {
		for (const until = Date.now() + startMs; Date.now() < until; ) {
			if (signal?.aborted) throw new Failure('cancelled', 'Canceled.');
			if ((await statusOf(`${address}/api/jobs/`)) === 200) return;
			await pause(300);
		}
		throw new Failure(
			'timeout',
			`Ray did not accept jobs at ${address} within ${startMs / 1000} s.`,
			`See ${this.log}.`,
		);
	}

	async #failure(python: string, why: string): Promise<Failure> {
		const text = await readNamed(this.log).then(
			(bytes) => bytes.subarray(-20_000).toString('utf8'),
			() => '',
		);
		if (/No module named '?ray\b/.test(text)) {
			return new Failure(
				'missing',
				`Ray is not installed in ${python}.`,
				`To install it, run: ${python} -m pip install "ray[default,train]"`,
			);
		}
		const last = text.trim().split('\n').at(-1)?.trim().slice(0, 300) ?? '';
		return new Failure('unavailable', `Ray did not start: ${last || why}`, `See ${this.log}.`);
	}
}

function startArguments(port: number): string[] {
	return [
		...['start', '--head', '--block', '--port=0', '--node-ip-address=127.0.0.1'],
		...['--dashboard-host=127.0.0.1', `--dashboard-port=${port}`, '--disable-usage-stats'],
	];
}

/** Returns the HTTP status code of a URL's response, or null if there is no response. */
function statusOf(url: string): Promise<number | null> {
	return new Promise((resolve) => {
		const asked = request(url, { timeout: 5000 }, (response) => {
			response.resume();
			resolve(response.statusCode ?? null);
		});
		asked.once('timeout', () => asked.destroy());
		asked.once('error', () => resolve(null));
		asked.end();
	});
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
