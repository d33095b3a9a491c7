import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

export interface RayCluster {
	/** Of its dashboard, which serves the Jobs API. */
	readonly address: string;
	/** What its head printed. */
	output(): string;
	/** Ends the head at once, as a lost machine would. */
	kill(): Promise<void>;
	/** Ends it with all that it has started, and removes its folder. */
	stop(): Promise<void>;
}

export interface RayClusterOptions {
	/** Of an environment with ray[default,train] and what the trainer needs. */
	readonly python: string;
	/** Default 3: two workers and what a job starts beside them. */
	readonly cpus?: number;
	readonly environment?: Readonly<Record<string, string>>;
}

/**
 * A port that is free now. Ray takes some of its ports minutes later: so it is none of those that systems give to whoever asks
 * for any (above 32767), nor of those that Ray gives to its workers (up to 19999).
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
 * A cluster of one node on this machine, with its own ports and its own folder; it touches no other one. It is ready when
 * the Jobs API answers.
 */
export async function startRayCluster({ python, cpus = 3, environment = {} }: RayClusterOptions): Promise<RayCluster> {
	// Sockets lie deep below it, and their paths are limited.
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
				// The driver on the cluster runs in this Node.
				PATH: [bin, dirname(process.execPath), process.env.PATH ?? ''].join(delimiter),
				RAY_USAGE_STATS_ENABLED: '0',
				RAY_memory_monitor_refresh_ms: '0',
				RAY_enable_worker_prestart: '0',
				RAY_TRAIN_METRICS_ENABLED: '0',
				RAY_TRAIN_ENABLE_PREEMPTION_WATCHER: '0',
				// On a busy machine everything takes its time.
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

/** Its processes carry the name of its folder, which is like no other; those that have left its group, too. */
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

/** Jobs are taken once the agent of the head answers, which is later than the dashboard. */
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
