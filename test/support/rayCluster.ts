import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

export interface RayCluster {
	/** Address of the cluster's dashboard, which serves the Jobs API. */
	readonly address: string;
	/** Returns the output of its head node. */
	output(): string;
	/** Kills the head node immediately, as if the machine were lost. */
	kill(): Promise<void>;
	/** Stops the cluster with everything it started, and removes its folder. */
	stop(): Promise<void>;
}

export interface RayClusterOptions {
	/** Python of an environment with ray[default,train] and the trainer's requirements. */
	readonly python: string;
	/** Default: 3, for two workers and the processes that a job starts next to them. */
	readonly cpus?: number;
	readonly environment?: Readonly<Record<string, string>>;
}

/**
 * Returns a port that is currently free. Ray binds some ports minutes later, so this avoids ports that systems assign
 * on request (above 32767) and ports that Ray assigns to its workers (up to 19999).
 */
export async function freePort(taken: Set<number>): Promise<number> {
	for (;;) {
		const port = randomInt(20_000, 32_000);
		if (taken.has(port)) continue;
		const server = createServer();
		const free = await new Promise<boolean>((resolve) => {
			server.once('error', () => resolve(false));
			server.listen(port, '0.0.0.0', () => resolve(true));
		});
		await new Promise((resolve) => server.close(resolve));
		if (!free) continue;
		taken.add(port);
		return port;
	}
}

/**
 * Starts a single-node cluster on this machine with its own ports and folder, isolated from other clusters. Resolves
 * when the Jobs API responds.
 */
export async function startRayCluster({ python, cpus = 3, environment = {} }: RayClusterOptions): Promise<RayCluster> {
	// Keep the path short: sockets are deeply nested in this folder, and their paths are limited.
	const folder = await mkdtemp(join(process.platform === 'win32' || tmpdir().length <= 24 ? tmpdir() : '/tmp', 'rl'));
	const taken = new Set<number>();
	const ports: number[] = [];
	for (let i = 0; i < 8; i++) ports.push(await freePort(taken));
	const [gcs, dashboard, agent, agentRpc, metrics, runtime, objects, nodes] = ports;
	const bin = dirname(python);
	const { RAY_ADDRESS: _, ...inherited } = process.env;
	const child = spawn(
		python,
		[
			join(import.meta.dirname, 'ray_head.py'),
			'start',
			'--head',
			'--block',
			`--port=${gcs}`,
			`--object-manager-port=${objects}`,
			`--node-manager-port=${nodes}`,
			'--node-ip-address=127.0.0.1',
			'--include-dashboard=true',
			'--dashboard-host=127.0.0.1',
			`--dashboard-port=${dashboard}`,
			`--dashboard-agent-listen-port=${agent}`,
			`--dashboard-agent-grpc-port=${agentRpc}`,
			`--metrics-export-port=${metrics}`,
			`--runtime-env-agent-port=${runtime}`,
			`--num-cpus=${cpus}`,
			'--num-gpus=0',
			`--object-store-memory=${100 << 20}`,
			`--temp-dir=${folder}`,
			'--disable-usage-stats',
		],
		{
			stdio: ['ignore', 'pipe', 'pipe'],
			detached: process.platform !== 'win32',
			env: {
				...inherited,
				// The driver on the cluster runs with this Node.
				PATH: [bin, dirname(process.execPath), process.env.PATH ?? ''].join(delimiter),
				RAY_USAGE_STATS_ENABLED: '0',
				RAY_memory_monitor_refresh_ms: '0',
				RAY_enable_worker_prestart: '0',
				RAY_TRAIN_METRICS_ENABLED: '0',
				RAY_TRAIN_ENABLE_PREEMPTION_WATCHER: '0',
				// Everything is slow to start on a busy machine.
				RAY_DASHBOARD_SUBPROCESS_MODULE_WAIT_READY_TIMEOUT: '300',
				RAY_DASHBOARD_STARTUP_TIMEOUT_S: '300',
				RAY_worker_register_timeout_seconds: '300',
				RAY_agent_register_timeout_ms: '300000',
				RAY_health_check_initial_delay_ms: '60000',
				RAY_health_check_timeout_ms: '60000',
				RAY_health_check_failure_threshold: '20',
				RAY_gcs_rpc_server_reconnect_timeout_s: '600',
				RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S: '300',
				OMP_NUM_THREADS: '1',
				HF_HUB_OFFLINE: '1',
				...environment,
			},
		},
	);
	let output = '';
	for (const stream of [child.stdout, child.stderr]) {
		stream?.setEncoding('utf8').on('data', (text: string) => {
			output = (output + text).slice(-100_000);
		});
	}
	const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
	const cluster: RayCluster = {
		address: `http://127.0.0.1:${dashboard}`,
		output: () => output,
		kill: async () => {
			send(child, 'SIGKILL');
			await ended;
		},
		stop: async () => {
			send(child, 'SIGKILL');
			await ended;
			await endProcessesOf(folder);
			await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
		},
	};
	try {
		await whenReady(cluster, child);
		return cluster;
	} catch (error) {
		await cluster.stop();
		throw error;
	}
}

/**
 * Kills processes whose command line or environment contains the unique folder name, including those that left the
 * process group.
 */
async function endProcessesOf(folder: string): Promise<void> {
	for (const pid of await readdir('/proc').catch(() => [])) {
		if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
		const [line, environment] = await Promise.all(
			['cmdline', 'environ'].map((name) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '')),
		);
		if (!line?.includes(`${folder}/`) && !environment?.includes(`${folder}/`)) continue;
		try {
			process.kill(Number(pid), 'SIGKILL');
		} catch {
			// It has ended.
		}
	}
}

function send(child: ChildProcess, signal: NodeJS.Signals): void {
	if (child.pid === undefined) return;
	try {
		process.kill(process.platform === 'win32' ? child.pid : -child.pid, signal);
	} catch {
		// It has ended.
	}
}

/** Waits until the head's agent responds, which is later than the dashboard. Only then are jobs accepted. */
async function whenReady(cluster: RayCluster, child: ChildProcess): Promise<void> {
	const deadline = Date.now() + 300_000;
	for (;;) {
		const answer = await fetch(`${cluster.address}/api/jobs/`).catch(() => null);
		if (answer?.ok) return;
		if (child.exitCode !== null || Date.now() > deadline) {
			throw new Error(`The Ray cluster did not start:\n${cluster.output()}`);
		}
		await new Promise((resolve) => setTimeout(resolve, 200));
	}
}
