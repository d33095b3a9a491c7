/**
 * Measures the CPU time of running process trees by sampling /proc. Includes processes that are never waited for, such
 * as browser pages.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { type ProcessTimes, processTimes } from './usage.ts';

const intervalMs = 250;

/** Program types reported separately, identified by a process's command line. */
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
	/** Ids of the measured process trees that contain it. */
	roots: ReadonlySet<number>;
}

/**
 * Samples while running, so it misses processes shorter than the interval. Linux only; elsewhere everything is zero.
 */
export class Meter {
	readonly #seen = new Map<number, Seen>();
	readonly #ended: Seen[] = [];
	readonly #timer: NodeJS.Timeout;

	constructor() {
		this.#timer = setInterval(() => this.#sample(), intervalMs).unref();
	}

	/** Returns the CPU seconds of a process and its descendants. */
	secondsOf(root: number): number {
		this.#sample();
		return this.#sum(({ roots }) => roots.has(root));
	}

	/** Returns the CPU seconds of all descendants of this process by program type. */
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
			// The process has ended, and its id may have been reused.
			this.#ended.push(seen);
			this.#seen.delete(pid);
		}
		for (const [pid, { own }] of times) {
			const known = this.#seen.get(pid);
			if (known !== undefined) {
				known.own = own;
				// A process can execute another program after it starts.
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

/** Returns the processes between this one and `pid`, including `pid`, or undefined if `pid` is not a descendant. */
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
