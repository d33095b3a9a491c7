import { treeProcesses } from './processTimes.ts';

/** Length of a turn in milliseconds: short compared with drift on the machine, long compared with a step. */
const turnMs = 2000;

/** A running program. */
export interface Working<T> {
	/** Returns its process id, or null if it has not started. */
	readonly pid: () => number | null;
	readonly end: Promise<T>;
}

/** Time during which a program was paused, in seconds since 1970. */
export interface Pause {
	readonly from: number;
	readonly to: number;
}

/** Result of one of two programs that ran in turns. */
export interface Alternated<T> {
	readonly result: T;
	readonly pauses: readonly Pause[];
}

/** A program whose processes can be paused. */
class Stoppable {
	readonly #pid: () => number | null;
	readonly pauses: Pause[] = [];
	#standing = new Set<number>();
	#since = 0;

	constructor(pid: () => number | null) {
		this.#pid = pid;
	}

	async stop(): Promise<void> {
		const pid = this.#pid();
		const processes = pid === null ? [] : await treeProcesses(pid);
		if (this.#standing.size === 0) this.#since = Date.now() / 1000;
		for (const one of processes) if (signal(one, 'SIGSTOP')) this.#standing.add(one);
	}

	proceed(): void {
		if (this.#standing.size === 0) return;
		for (const one of this.#standing) signal(one, 'SIGCONT');
		this.#standing = new Set();
		this.pauses.push({ from: this.#since, to: Date.now() / 1000 });
	}
}

/** Sends a signal. Returns whether the process exists. */
function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT'): boolean {
	try {
		process.kill(pid, name);
		return true;
	} catch {
		return false;
	}
}

/**
 * Runs two programs in turns, so that changes on the machine affect both equally: one program's processes are stopped
 * while the other runs. `worked` subtracts these pauses from a step's duration.
 */
export async function alternately<A, B>(
	first: Working<A>,
	second: Working<B>,
): Promise<[Alternated<A>, Alternated<B>]> {
	let over = false;
	const [a, b] = [first, second].map(({ end }) =>
		(end as Promise<unknown>).finally(() => {
			over = true;
		}),
	) as [Promise<A>, Promise<B>];
	const both = Promise.allSettled([a, b]);
	const programs = [new Stoppable(first.pid), new Stoppable(second.pid)] as const;
	try {
		for (let turn = 0; !over; turn++) {
			const [works, stands] = turn % 2 === 0 ? programs : ([programs[1], programs[0]] as const);
			await stands.stop();
			works.proceed();
			await Promise.race([new Promise((next) => setTimeout(next, turnMs)), both, a.catch(() => {}), b.catch(() => {})]);
		}
	} finally {
		for (const program of programs) program.proceed();
	}
	const [result, other] = await Promise.all([a, b]);
	return [
		{ result, pauses: programs[0].pauses },
		{ result: other, pauses: programs[1].pauses },
	];
}

/** Returns the seconds between two times, excluding the program's pauses. */
export function worked(from: number, to: number, pauses: readonly Pause[]): number {
	const overlap = (pause: Pause) => Math.max(0, Math.min(to, pause.to) - Math.max(from, pause.from));
	return to - from - pauses.reduce((sum, pause) => sum + overlap(pause), 0);
}
