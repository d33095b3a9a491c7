/** Processor time of running process trees, sampled from /proc: also of what is never waited for, as a browser's pages. */
import { readdirSync, readFileSync } from 'node:fs';
import { type ProcessTimes, processTimes } from './usage.ts';

const intervalMs = 250;

/** Programs whose processor time is told apart, by the command line of a process. */
const kinds: readonly (readonly [string, RegExp])[] = [
	['browser', /chrom(e|ium)/],
	['workbench', /code-server|extensionHost|\/lib\/vscode\//],
	['Python', /(^|\/)(python[\d.]*|ray|raylet|gcs_server|pip)(\s|$)|ray::/],
	['engine', /(engine|driver|worker|pipeline)\.js|\/(engine|driver|pipeline)\/main\.ts/],
	['command line', /\/cli\.(js|ts)/],
	['test worker', /runner\/worker\.ts/],
];

interface Seen {
	own: number;
	kind: string;
	/** Ids of the metered trees that it belongs to. */
	roots: ReadonlySet<number>;
}

/** Samples while it runs; what lives shorter than the interval is missed. Linux only: elsewhere everything is zero. */
export class Meter {
	readonly #seen = new Map<number, Seen>();
	readonly #ended: Seen[] = [];
	readonly #timer: NodeJS.Timeout;

	constructor() {
		this.#timer = setInterval(() => this.#sample(), intervalMs).unref();
	}

	/** Seconds of a process and everything that it has started. */
	secondsOf(root: number): number {
		this.#sample();
		return this.#sum(({ roots }) => roots.has(root));
	}

	/** Seconds by kind of program, of everything that this process has started. */
	secondsByKind(): Map<string, number> {
		this.#sample();
		const names = [...kinds.map(([name]) => name), 'other'];
		return new Map(names.map((name) => [name, this.#sum(({ kind }) => kind === name)]));
	}

	stop(): void {
		clearInterval(this.#timer);
	}

	#sum(wanted: (seen: Seen) => boolean): number {
		return [...this.#seen.values(), ...this.#ended].filter(wanted).reduce((sum, { own }) => sum + own, 0);
	}

	#sample(): void {
		const times = new Map<number, ProcessTimes>();
		for (const name of pidNames()) {
			const found = processTimes(Number(name));
			if (found !== undefined) times.set(Number(name), found);
		}
		for (const [pid, seen] of this.#seen) {
			if ((times.get(pid)?.own ?? -1) >= seen.own) continue;
			// It has ended; another process may have its id now.
			this.#ended.push(seen);
			this.#seen.delete(pid);
		}
		for (const [pid, { own }] of times) {
			const known = this.#seen.get(pid);
			if (known !== undefined) {
				known.own = own;
				// A process may become another program after its start.
				if (known.kind === 'other') known.kind = kindOf(pid);
				continue;
			}
			const roots = rootsOf(pid, times, this.#seen);
			if (roots !== undefined) this.#seen.set(pid, { own, kind: kindOf(pid), roots });
		}
	}
}

function pidNames(): string[] {
	try {
		return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
	} catch {
		return [];
	}
}

/** Processes between this one and `pid`, itself among them; undefined for what this process has not started. */
function rootsOf(
	pid: number,
	times: ReadonlyMap<number, ProcessTimes>,
	seen: ReadonlyMap<number, Seen>,
): Set<number> | undefined {
	const roots = new Set<number>();
	for (let current = pid; current > 1; current = times.get(current)?.parent ?? 0) {
		if (current === process.pid) return roots.size > 0 ? roots : undefined;
		const known = seen.get(current);
		if (known !== undefined) return new Set([...roots, ...known.roots]);
		roots.add(current);
	}
	return undefined;
}

function kindOf(pid: number): string {
	try {
		const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
		return kinds.find(([, pattern]) => pattern.test(command))?.[0] ?? 'other';
	} catch {
		return 'other';
	}
}
