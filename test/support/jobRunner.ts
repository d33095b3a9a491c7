import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface JobRunnerOptions {
	readonly python: string;
	readonly environment?: Readonly<Record<string, string>>;
	/** Called before a job starts in its folder. */
	readonly prepare?: (folder: string) => Promise<void>;
}

export interface JobRunner {
	readonly address: string;
	/** Requests in the format "METHOD path". */
	readonly asked: string[];
	stop(): Promise<void>;
}

interface Job {
	readonly process: ChildProcess;
	log: string;
	status: string;
	stopped: boolean;
}

function end({ process: { pid } }: Job, signal: NodeJS.Signals): boolean {
	try {
		return pid !== undefined && process.kill(-pid, signal);
	} catch {
		return false;
	}
}

async function body(request: IncomingMessage): Promise<Buffer> {
	const parts: Buffer[] = [];
	for await (const part of request) parts.push(part as Buffer);
	return Buffer.concat(parts);
}

/**
 * Emulates Ray's Jobs API without a cluster: unpacks packages and runs entry points as local processes. The log is only
 * available as a whole, as behind a proxy without WebSocket support.
 */
export async function startJobRunner({ python, environment = {}, prepare }: JobRunnerOptions): Promise<JobRunner> {
	const folder = await mkdtemp(join(tmpdir(), 'rlj'));
	const jobs = new Map<string, Job>();
	const packages = new Set<string>();
	const asked: string[] = [];

	async function submit(request: {
		readonly entrypoint: string;
		readonly submission_id: string;
		readonly runtime_env: { readonly working_dir: string; readonly env_vars: Record<string, string> };
	}): Promise<void> {
		const { entrypoint, submission_id: id, runtime_env: runtime } = request;
		const work = join(folder, id);
		await mkdir(work);
		const zip = join(folder, runtime.working_dir.replace('gcs://', ''));
		const unpacked = spawnSync(python, ['-m', 'zipfile', '-e', zip, work]);
		if (unpacked.status !== 0) throw new Error(`${unpacked.stderr}`);
		await prepare?.(work);
		const child = spawn('/bin/sh', ['-c', entrypoint.replace(/^python /, `exec ${python} `)], {
			cwd: work,
			env: { ...process.env, ...environment, ...runtime.env_vars },
			stdio: ['ignore', 'pipe', 'pipe'],
			// As in Ray, a job is killed together with everything it started.
			detached: true,
		});
		const job: Job = { process: child, log: '', status: 'RUNNING', stopped: false };
		jobs.set(id, job);
		for (const stream of [child.stdout, child.stderr]) {
			stream.setEncoding('utf8').on('data', (text: string) => {
				job.log += text;
			});
		}
		child.once('close', (code) => {
			job.status = job.stopped ? 'STOPPED' : code === 0 ? 'SUCCEEDED' : 'FAILED';
		});
	}

	async function answer(request: IncomingMessage): Promise<[number, unknown]> {
		const path = request.url ?? '';
		asked.push(`${request.method} ${path}`);
		if (path === '/api/version') return [200, { ray_version: '2.58.1' }];
		const pack = /^\/api\/packages\/gcs\/([\w.]+)$/.exec(path)?.[1];
		if (pack !== undefined) {
			if (request.method === 'GET') return [packages.has(pack) ? 200 : 404, {}];
			await writeFile(join(folder, pack), await body(request));
			packages.add(pack);
			return [200, {}];
		}
		if (path === '/api/jobs/') {
			await submit(JSON.parse((await body(request)).toString('utf8')));
			return [200, {}];
		}
		const [, id = '', rest = ''] = /^\/api\/jobs\/([^/]+)(\/.*)?$/.exec(path) ?? [];
		const job = jobs.get(id);
		if (job === undefined) return [404, `Job ${id} does not exist`];
		if (rest === '') return [200, { status: job.status, message: `The process is ${job.status}.` }];
		if (rest === '/logs') return [200, { logs: job.log }];
		if (rest === '/stop') {
			job.stopped = true;
			return [200, { stopped: end(job, 'SIGTERM') }];
		}
		return [404, 'no such thing'];
	}

	const server = createServer((request, response) => {
		answer(request).then(
			([status, value]) => response.writeHead(status).end(typeof value === 'string' ? value : JSON.stringify(value)),
			(error: unknown) => response.writeHead(500).end(String(error)),
		);
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	return {
		address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
		asked,
		stop: async () => {
			for (const job of jobs.values()) end(job, 'SIGKILL');
			server.closeAllConnections();
			await new Promise((resolve) => server.close(resolve));
			await rm(folder, { recursive: true, force: true });
		},
	};
}

/** Makes a job believe that it runs on a machine whose storage the driver cannot access. */
export async function elsewhere(folder: string): Promise<void> {
	const path = join(folder, 'job.json');
	const settings = JSON.parse(await readFile(path, 'utf8'));
	settings.place.nonce = 'of another machine';
	await writeFile(path, JSON.stringify(settings));
}
