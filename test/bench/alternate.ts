import { treeProcesses } from './processTimes.ts';

/** So long one works while the other stands, in milliseconds: short against the drifts of a machine, long against a step. */
const turnMs = 2000;

/** A program that is under way. */
export interface Working<T> {
	/** Its process; null: not begun. */
	readonly pid: () => number | null;
	readonly end: Promise<T>;
}

/** While a program stood, in seconds since 1970. */
export interface Pause {
	readonly from: number;
	readonly to: number;
}

/** How a program of two by turns ended. */
export interface Alternated<T> {
	readonly result: T;
	readonly pauses: readonly Pause[];
}

/** A program whose processes can be stopped. */
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

/** Whether it is there to get it. */
function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT'): boolean {
	try {
		process.kill(pid, name);
		return true;
	} catch {
		return false;
	}
}

/**
 * Lets two programs work by turns, so that what changes on the machine meanwhile meets both alike: the processes of one are
 * stopped while those of the other work. `worked` leaves out of a step what it stood.
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

/** Seconds from one time to another in which a program did not stand. */
export function worked(from: number, to: number, pauses: readonly Pause[]): number {
	const overlap = (pause: Pause) => Math.max(0, Math.min(to, pause.to) - Math.max(from, pause.from));
	return to - from - pauses.reduce((sum, pause) => sum + overlap(pause), 0);
}
