import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Random } from '../../src/base/random.ts';
import { processesIn, signal } from './processes.ts';
import type { Role, Work, WorkKind } from './work.ts';
import { namesBelow, writtenLines } from './writtenLines.ts';

export type Fault =
	| { readonly kind: 'kill' | 'freeze'; readonly role: Role }
	| { readonly kind: 'full disk' | 'read-only folder' | 'second window' }
	| { readonly kind: 'clock'; readonly seconds: number };

export interface Trial {
	readonly number: number;
	readonly work: string;
	readonly seed: number;
	readonly fault: string;
	/** Time since the work started, in milliseconds. */
	readonly after: number;
	/** Whether there was something to hit: false if the work had finished or had no such process at that moment. */
	readonly hit: boolean;
	readonly resumes: number;
	/** What was lost or left behind. Empty if the work survived. */
	readonly losses: readonly string[];
}

interface Undisturbed {
	readonly outcome: unknown;
	readonly milliseconds: number;
	readonly names: ReadonlySet<string>;
	/** Names of files in the temporary folder, where libraries keep caches. */
	readonly temporary: ReadonlySet<string>;
}

export interface CampaignOptions {
	readonly seed: number;
	readonly kinds: readonly WorkKind[];
	/** Number of variants of each type of work. Each is run once undisturbed. */
	readonly variants: number;
	/** Duration of SIGSTOP, in milliseconds. */
	readonly freezeMs: number;
}

const clockPreload = `--import=${new URL('clockJump.ts', import.meta.url).href}`;
const maxResumes = 5;
/** Work takes a few seconds; anything that takes this long hangs. */
const hangMs = 150_000;

/** Disturbs small pieces of work at random moments, once each, and reports what did not survive. */
export class Campaign {
	readonly #options: CampaignOptions;
	readonly #undisturbed = new Map<string, Undisturbed>();

	constructor(options: CampaignOptions) {
		this.#options = options;
	}

	async trial(number: number): Promise<Trial> {
		const { seed, kinds, variants } = this.#options;
		const random = Random.of('fault', seed, number);
		const kind = kinds[random.int(kinds.length)] as WorkKind;
		const workSeed = random.int(variants);
		const fault = chooseFault(random, kind);
		const { outcome, milliseconds, names, temporary: usual } = await this.#baseline(kind, workSeed);
		const after = Math.round(random.next() * milliseconds);
		const result = { number, work: kind.name, seed: workSeed, fault: faultText(fault), after };
		const needsDisk = fault.kind === 'full disk' || fault.kind === 'read-only folder';
		await using place = await Place.make(needsDisk);
		const losses: string[] = [];
		const environment = { ...place.environment };
		if (fault.kind === 'clock') {
			environment.NODE_OPTIONS = clockPreload;
			environment.FAULT_CLOCK_MS = `${fault.seconds * 1000}`;
		}
		const work = await kind.make(place.folder, workSeed, environment);
		await work.start();
		await sleep(after);
		const hit = await this.#hit(work, fault, place, losses, random.next() * 1500);
		let resumes = 0;
		if (!(await ends(work))) losses.push('the work neither ended nor continued');
		await place.heal();
		const written = await writtenLines(place.folder);
		while (losses.length === 0 && !(await work.isComplete())) {
			if (++resumes > maxResumes) {
				losses.push(`not complete after ${maxResumes} resumes: ${await work.reason()}`);
				break;
			}
			await work.resume();
			if (!(await ends(work))) losses.push('the resumed work did not end');
		}
		if (losses.length === 0) {
			if (!isDeepStrictEqual(await work.outcome(), outcome)) {
				losses.push(`different outcome: ${difference(await work.outcome(), outcome)}`);
			}
			const now = await writtenLines(place.folder);
			const lost = [...written].filter(([hash]) => !now.has(hash));
			if (lost.length > 0)
				losses.push(`${lost.length} lines of ${[...new Set(lost.map(([, file]) => file))]} are gone`);
			const fresh = [...(await namesBelow(place.folder))].map(plainName).filter((name) => !names.has(name));
			// A run's log exists only if something went wrong, which here is the fault itself.
			const extra = [...new Set(fresh)].filter((name) => !name.endsWith('/engine.log'));
			if (extra.length > 0) losses.push(`left behind: ${extra.slice(0, 5).join(', ')}`);
			const temporary = (await readdir(place.temporary)).filter((name) => !usual.has(name));
			if (temporary.length > 0) losses.push(`temporary files left behind: ${temporary.slice(0, 5).join(', ')}`);
		}
		const left = await lingering(place.folder);
		if (left.length > 0) losses.push(`processes left behind: ${left.map(({ command }) => command.slice(0, 120))}`);
		return { ...result, hit, resumes, losses };
	}

	async #baseline(kind: WorkKind, seed: number): Promise<Undisturbed> {
		const key = `${kind.name} ${seed}`;
		const known = this.#undisturbed.get(key);
		if (known) return known;
		await using place = await Place.make(false);
		const work = await kind.make(place.folder, seed, place.environment);
		const start = performance.now();
		await work.start();
		if (!(await ends(work)) || !(await work.isComplete())) {
			throw new Error(`${key} does not complete even without a fault: ${await work.reason()}`);
		}
		const milliseconds = performance.now() - start;
		await lingering(place.folder);
		const names = new Set([...(await namesBelow(place.folder))].map(plainName));
		const temporary = new Set(await readdir(place.temporary));
		const made = { outcome: await work.outcome(), milliseconds, names, temporary };
		this.#undisturbed.set(key, made);
		return made;
	}

	/** Injects the fault. Returns false if there was nothing to hit. */
	async #hit(work: Work, fault: Fault, place: Place, losses: string[], later: number): Promise<boolean> {
		if (await work.isOver()) return false;
		const pidsOf = async (role: Role | null) =>
			(await processesIn(place.folder))
				.filter((one) => (role === null ? one.role !== null : one.role === role))
				.map(({ pid }) => pid);
		switch (fault.kind) {
			case 'kill':
			case 'freeze': {
				// If the process starts later, wait a random time after its start before hitting it.
				let pids = await pidsOf(fault.role);
				if (pids.length === 0) {
					while (pids.length === 0 && !(await work.isOver())) pids = await pidsOf(fault.role);
					await sleep(later);
					pids = await pidsOf(fault.role);
				}
				if (pids.length === 0) return false;
				signal(pids, fault.kind === 'kill' ? 'SIGKILL' : 'SIGSTOP');
				if (fault.kind === 'kill') return true;
				await sleep(this.#options.freezeMs);
				signal(pids, 'SIGCONT');
				return true;
			}
			case 'clock': {
				// The signal would kill a process that has not installed its handler yet.
				const pids = (await processesIn(place.folder))
					.filter(({ role, command }) => role !== null && role !== 'trainer' && !command.includes('python'))
					.map(({ pid }) => pid);
				const ready = [];
				for (const pid of pids) if (await catches(pid)) ready.push(pid);
				signal(ready, 'SIGUSR2');
				return ready.length > 0;
			}
			case 'full disk':
				await place.fill();
				// Give the work time to run into the full disk before freeing space.
				for (const end = Date.now() + 5000; Date.now() < end && !(await work.isOver()); ) await sleep(100);
				return true;
			case 'read-only folder': {
				const done = await place.protect(work);
				for (const end = Date.now() + 5000; done && Date.now() < end && !(await work.isOver()); ) await sleep(100);
				return done;
			}
			case 'second window': {
				const refused = await work.startTwice();
				if (refused === null && !(await work.isOver())) losses.push('a second process was allowed to work on it');
				return true;
			}
		}
	}
}

/** Folder for a piece of work and everything it needs, on a separate file system if the fault requires it. */
class Place implements AsyncDisposable {
	readonly #root: string;
	readonly #mounted: boolean;
	readonly folder: string;
	readonly temporary: string;
	readonly environment: Record<string, string>;

	private constructor(root: string, mounted: boolean) {
		this.#root = root;
		this.#mounted = mounted;
		this.folder = join(root, 'work');
		this.temporary = join(root, 'tmp');
		this.environment = {
			REASONING_LAB_HOME: join(root, 'home'),
			XDG_RUNTIME_DIR: join(root, 'x'),
			TMPDIR: this.temporary,
			FAULT_PLACE: this.folder,
		};
	}

	static async make(mounted: boolean): Promise<Place> {
		const root = await realpath(await mkdtemp(join(tmpdir(), 'fl-')));
		const place = new Place(root, mounted);
		for (const folder of [place.folder, place.temporary]) await mkdir(folder);
		await mkdir(join(root, 'x'), { mode: 0o700 });
		if (mounted) execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', place.folder]);
		// The campaign must look for endpoints where the programs create them.
		Object.assign(process.env, { REASONING_LAB_HOME: join(root, 'home'), XDG_RUNTIME_DIR: join(root, 'x') });
		return place;
	}

	async fill(): Promise<void> {
		for (let size = 16 << 20; size >= 4096; size >>= 1) {
			for (let i = 0; i < 2; i++) {
				await writeFile(join(this.folder, `ballast-${size}-${i}`), Buffer.alloc(size)).catch(() => undefined);
			}
		}
	}

	/** Makes the file system read-only. Returns false if open files kept it writable until the work was over. */
	async protect(work: Work): Promise<boolean> {
		for (const end = Date.now() + 5000; Date.now() < end && !(await work.isOver()); await sleep(1)) {
			try {
				execFileSync('mount', ['-o', 'remount,ro', this.folder], { stdio: 'pipe' });
				return true;
			} catch {}
		}
		return false;
	}

	/** Frees space and makes the file system writable again. */
	async heal(): Promise<void> {
		if (!this.#mounted) return;
		execFileSync('mount', ['-o', 'remount,rw', this.folder], { stdio: 'pipe' });
		for (const name of await readdir(this.folder)) {
			if (name.startsWith('ballast-')) await rm(join(this.folder, name));
		}
	}

	async [Symbol.asyncDispose](): Promise<void> {
		signal(
			(await processesIn(this.folder)).map(({ pid }) => pid),
			'SIGKILL',
		);
		if (this.#mounted) execFileSync('umount', ['-l', this.folder]);
		await rm(this.#root, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
	}
}

function chooseFault(random: Random, { roles, name }: WorkKind): Fault {
	const role = () => roles[random.int(roles.length)] as Role;
	const draw = random.next();
	if (draw < 0.45) return { kind: 'kill', role: role() };
	if (draw < 0.55) return { kind: 'freeze', role: role() };
	// Scripted searches write too little for disk faults; all other work is tried with a full disk and a read-only
	// folder.
	if (draw < 0.7 && name !== 'search') return { kind: 'full disk' };
	if (draw < 0.8 && name !== 'search') return { kind: 'read-only folder' };
	if (draw < 0.9) return { kind: 'second window' };
	return { kind: 'clock', seconds: (random.int(2) === 0 ? -1 : 1) * 90 * 40 ** random.int(3) };
}

function faultText(fault: Fault): string {
	if (fault.kind === 'clock') return `clock ${fault.seconds > 0 ? '+' : ''}${fault.seconds} s`;
	return 'role' in fault ? `${fault.kind} ${fault.role}` : fault.kind;
}

async function ends(work: Work): Promise<boolean> {
	for (const end = Date.now() + hangMs; Date.now() < end; await sleep(40)) if (await work.isOver()) return true;
	return false;
}

/** Returns the processes that are still running some time after the end. */
async function lingering(folder: string): ReturnType<typeof processesIn> {
	for (const end = Date.now() + 15_000; ; await sleep(100)) {
		const found = await processesIn(folder);
		if (found.length === 0 || Date.now() > end) return found;
	}
}

/** Returns whether a process has a SIGUSR2 handler. */
async function catches(pid: number): Promise<boolean> {
	const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
	const caught = /^SigCgt:\s*([0-9a-f]+)/m.exec(status)?.[1];
	return caught !== undefined && ((BigInt(`0x${caught}`) >> 11n) & 1n) === 1n;
}

/** Removes the parts of a path that vary between runs: times, hashes, steps, lock generation numbers. */
function plainName(name: string): string {
	return name
		.replace(/-\d{8}-\d{6}-[0-9a-f]{4}/g, '')
		.replace(/step_\d+/g, 'step')
		.replace(/(?<=(?:\.lock|\.locks\/[^/]+)\/)\d+$/, '');
}

function difference(got: unknown, expected: unknown): string {
	const [a, b] = [got, expected].map((value) => (value ?? {}) as Record<string, unknown>);
	const names = Object.keys({ ...a, ...b }).filter((name) => !isDeepStrictEqual(a?.[name], b?.[name]));
	return names
		.map(
			(name) =>
				`${name}: ${JSON.stringify(a?.[name])?.slice(0, 200)} instead of ${JSON.stringify(b?.[name])?.slice(0, 200)}`,
		)
		.join('; ');
}
