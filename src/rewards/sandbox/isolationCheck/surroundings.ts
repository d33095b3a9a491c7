import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { access, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { homedir, networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Failure } from '../../../base/failure.ts';

/** Responds and closes. Drains the input, because a socket with unread data never closes. */
const answer = (socket: Socket) =>
	void socket
		.on('error', () => undefined)
		.resume()
		.end('reached');

/** Parameters passed to attempts as about.json. */
export interface About {
	readonly token: string;
	/** Value and name of a variable in this process's environment. */
	readonly secret: string;
	readonly secretName: string;
	/** IDs of this process and of a process that attempts are allowed to kill. */
	readonly pid: number;
	readonly victim: number;
	readonly port: number;
	readonly udpPort: number;
	/** Name of an abstract socket, or null if the system does not support them. */
	readonly abstract: string | null;
	readonly addresses: readonly string[];
	readonly sockets: readonly string[];
	readonly homeFiles: readonly string[];
	readonly workspaceFiles: readonly string[];
	readonly tmpFiles: readonly string[];
	readonly writes: readonly string[];
	readonly devices: readonly string[];
}

/** Resources outside the sandbox that attempts try to access: files, servers, a process, a secret. */
export interface Surroundings {
	readonly about: About;
	/** @param signaled whether a signal was sent, which may not take effect immediately */
	victimLives(signaled: boolean): Promise<boolean>;
	/** Returns files that attempts have created outside the sandbox. */
	appeared(): Promise<string[]>;
	/** Returns processes that attempts have left behind. */
	findLeft(): Promise<number[]>;
	remove(): Promise<void>;
}

const variable = 'REASONING_LAB_CANARY_TOKEN';

/** @param workspace folder whose files a sandbox must not expose */
export async function makeSurroundings(workspace: string): Promise<Surroundings> {
	const token = `reasoning-lab-${randomBytes(8).toString('hex')}`;
	const secret = randomBytes(16).toString('hex');
	const undo: (() => unknown)[] = [];
	const remove = async () => {
		for (const step of undo.splice(0).reverse()) await step();
	};
	try {
		const folder = await mkdtemp(join(tmpdir(), 'rl-check-'));
		undo.push(() => rm(folder, { recursive: true, force: true }));
		const canary = async (path: string) => {
			const written = await writeFile(path, secret, { flag: 'wx' }).then(
				() => true,
				() => false,
			);
			if (written) undo.push(() => rm(path, { force: true }));
			return written ? [path] : [];
		};
		const homeFiles = await canary(join(homedir(), `.${token}`));
		const workspaceFiles = await canary(join(workspace, `.${token}-workspace`));
		const tmpFiles = await canary(join(folder, 'canary'));

		const { port, udpPort, path, abstract } = await startServers(folder, token, undo);
		const { victim, pid: victimPid } = await startVictim(token, undo);
		process.env[variable] = secret;
		undo.push(() => delete process.env[variable]);

		const writes = [join(homedir(), `.${token}-written`), join(workspace, `.${token}-written`)];
		const systemWrites = ['/usr', '/usr/lib', '/etc', '/'].map((place) => join(place, token));
		undo.push(async () => {
			for (const written of [...writes, ...systemWrites]) await rm(written, { force: true }).catch(() => undefined);
		});
		const agents = [
			process.env.SSH_AUTH_SOCK,
			'/run/docker.sock',
			'/var/run/docker.sock',
			'/run/dbus/system_bus_socket',
		];
		undo.push(async () => {
			for (const pid of await processesWith(token, victimPid)) {
				try {
					process.kill(pid, 'SIGKILL');
				} catch {
					// It has already exited.
				}
			}
		});
		return {
			about: {
				token,
				secret,
				secretName: variable,
				pid: process.pid,
				victim: victimPid,
				port,
				udpPort,
				abstract,
				addresses: Object.values(networkInterfaces())
					.flatMap((list) => list ?? [])
					.filter(({ internal, scopeid }) => !internal && !scopeid)
					.map(({ address }) => address),
				sockets: [path, ...agents.filter((agent) => agent !== undefined && agent !== '')] as string[],
				homeFiles,
				workspaceFiles,
				tmpFiles,
				writes,
				devices: await devices(),
			},
			victimLives: async (signaled) => {
				const lives = () => victim.exitCode === null && victim.signalCode === null;
				for (let i = 0; signaled && lives() && i < 100; i++) await setTimeout(20);
				return lives();
			},
			appeared: async () => {
				const found = await Promise.all(
					[...writes, ...systemWrites].map((written) =>
						access(written).then(
							() => [written],
							() => [],
						),
					),
				);
				return found.flat();
			},
			findLeft: () => processesWith(token, victimPid),
			remove,
		};
	} catch (error) {
		await remove();
		throw error;
	}
}

/** Starts the servers that attempts try to reach. `path` is the path to a socket in the folder. */
async function startServers(folder: string, token: string, undo: (() => unknown)[]) {
	const tcp = createServer(answer);
	const port = await listen(tcp, { port: 0, host: '::' }).catch(() => listen(tcp, { port: 0, host: '0.0.0.0' }));
	undo.push(() => tcp.close());
	const udp = createSocket('udp4').on('message', (_, { port: to, address }) => udp.send('reached', to, address));
	await new Promise<void>((resolve) => udp.bind(0, '127.0.0.1', resolve));
	undo.push(() => udp.close());
	const unix = createServer(answer);
	const path = join(folder, 'socket');
	await listen(unix, { path });
	undo.push(() => unix.close());
	const hidden = createServer(answer);
	const abstract =
		process.platform !== 'linux'
			? null
			: await listen(hidden, { path: `\0${token}` }).then(
					() => token,
					() => null,
				);
	if (abstract !== null) undo.push(() => hidden.close());
	return { port, udpPort: udp.address().port, path, abstract };
}

/** Starts a process that attempts try to kill. */
async function startVictim(token: string, undo: (() => unknown)[]) {
	const victim = spawn(process.execPath, ['-e', "console.log('here'); setInterval(() => undefined, 60000)", token], {
		stdio: ['ignore', 'pipe', 'ignore'],
		env: { ...process.env, ELECTRON_RUN_AS_NODE: '1' },
	});
	victim.on('error', () => undefined);
	undo.push(() => ended(victim));
	const { pid } = victim;
	// Given a number that is not a process ID, `kill` can signal many processes.
	if (pid === undefined) throw new Failure('internal', 'Cannot start the process that attempts are allowed to kill.');
	// A process does not show its arguments until shortly after it starts.
	await Promise.race([once(victim.stdout, 'data'), once(victim, 'exit')]).catch(() => undefined);
	return { victim, pid };
}

function listen(server: Server, where: { port: number; host: string } | { path: string }): Promise<number> {
	return new Promise((resolve, reject) => {
		server.once('error', reject);
		server.listen(where, () => {
			server.off('error', reject);
			const address = server.address();
			resolve(typeof address === 'object' && address !== null ? address.port : 0);
		});
	});
}

function ended(child: ChildProcess): Promise<void> {
	if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
	return new Promise((resolve) => {
		child.once('exit', () => resolve());
		child.kill('SIGKILL');
	});
}

async function devices(): Promise<string[]> {
	const disks = await readdir('/sys/block').catch(() => []);
	const paths = [
		'/dev/mem',
		'/dev/kmsg',
		'/dev/kvm',
		'/dev/fuse',
		'/dev/net/tun',
		...disks.map((disk) => `/dev/${disk}`),
	];
	return paths.slice(0, 30);
}

/**
 * Returns this machine's processes whose arguments contain the token, except for the one created to be killed (Linux).
 */
async function processesWith(token: string, victim: number): Promise<number[]> {
	if (process.platform !== 'linux') return [];
	const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== victim);
	const found = await Promise.all(
		pids.map(async (pid) => {
			const line = await readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '');
			return line.includes(token) ? [Number(pid)] : [];
		}),
	);
	return found.flat();
}
