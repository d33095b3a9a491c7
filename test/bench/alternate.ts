import { treeProcesses } from './processTimes.ts';

/** So long one works while the other stands, in milliseconds: short against the drifts of a machine, long against a step. */
const turnMs = 4000;

/** A program that is under way. */
export interface Working<T> {
	/** Its process; null: not begun. */
	readonly pid: () => number | null;
	readonly end: Promise<T>;
}

/**
 * Lets two programs work by turns, so that what changes on the machine meanwhile meets both alike: the processes of one are
 * stopped while those of the other work. Steps during which one was stopped are long; `uninterrupted` tells them apart.
 */
export async function alternately<A, B>(first: Working<A>, second: Working<B>): Promise<[A, B]> {
	let over = false;
	const [a, b] = [first, second].map(({ end }) =>
		(end as Promise<unknown>).finally(() => {
			over = true;
		}),
	) as [Promise<A>, Promise<B>];
	const both = Promise.allSettled([a, b]);
	const standing = new Set<number>();
	const signal = async (pid: number | null, name: 'SIGSTOP' | 'SIGCONT') => {
		if (pid === null) return;
		for (const one of await treeProcesses(pid)) {
			try {
				process.kill(one, name);
				if (name === 'SIGSTOP') standing.add(one);
				else standing.delete(one);
			} catch {
				// It has ended meanwhile.
				standing.delete(one);
			}
		}
	};
	try {
		for (let turn = 0; !over; turn++) {
			const [works, stands] = turn % 2 === 0 ? [first, second] : [second, first];
			await signal(stands.pid(), 'SIGSTOP');
			await signal(works.pid(), 'SIGCONT');
			await Promise.race([new Promise((next) => setTimeout(next, turnMs)), both, a.catch(() => {}), b.catch(() => {})]);
		}
	} finally {
		for (const pid of standing) {
			try {
				process.kill(pid, 'SIGCONT');
			} catch {
				// It has ended meanwhile.
			}
		}
	}
	return Promise.all([a, b]);
}

/** Whether a step that took so long was not interrupted by a turn of the other program. */
export function uninterrupted(seconds: number): boolean {
	return seconds < turnMs / 1000;
}
