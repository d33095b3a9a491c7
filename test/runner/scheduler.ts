/** Runs interdependent tasks on a number of CPU cores, longest dependency chain first. */

export interface Task {
	readonly id: string;
	/** Ids of tasks that must succeed before this one starts. */
	readonly needs: readonly string[];
	/** Number of cores that it keeps busy. */
	readonly cores: number;
	/** Expected duration. Only affects the order. */
	readonly seconds: number;
	/** @returns whether dependent tasks may run */
	run(): Promise<boolean>;
}

export interface ScheduleOptions {
	readonly cores: number;
	readonly signal: AbortSignal;
	/** Called instead of `run` if a dependency did not succeed. */
	readonly onBlocked: (task: Task, by: string) => void;
	/**
	 * Returns how many cores have been idle since the last call. While running tasks leave at least `idleEnough` idle,
	 * each call starts one more task, and that number of tasks keeps running until the cores are busy. Default: none.
	 */
	readonly idleCores?: () => number;
	/** Milliseconds between calls to `idleCores`. */
	readonly idleMs?: number;
}

/** Maximum running tasks per core, no matter how idle the cores are: each one also takes memory. */
const tasksPerCore = 3;
const idleEnough = 0.3;
/** Below this number of idle cores, the machine counts as busy, and the number of extra tasks slowly decreases. */
const idleTooFew = 0.1;
const returnedCores = 0.1;

/** Returns the seconds from the start of each task to the end of the longest chain that depends on it. */
export function criticalPaths(tasks: readonly Task[]): Map<string, number> {
	const dependents = new Map<string, Task[]>();
	for (const task of tasks) for (const id of task.needs) dependents.set(id, [...(dependents.get(id) ?? []), task]);
	const paths = new Map<string, number>();
	const visit = (task: Task, chain: readonly string[]): number => {
		if (chain.includes(task.id)) throw new Error(`Tasks need each other: ${[...chain, task.id].join(' > ')}`);
		const known = paths.get(task.id);
		if (known !== undefined) return known;
		const behind = (dependents.get(task.id) ?? []).map((next) => visit(next, [...chain, task.id]));
		const length = task.seconds + Math.max(0, ...behind);
		paths.set(task.id, length);
		return length;
	};
	for (const task of tasks) visit(task, []);
	return paths;
}

/** Resolves when every task has run or is blocked, or, if aborted, when all running tasks have ended. */
export async function schedule(tasks: readonly Task[], options: ScheduleOptions): Promise<void> {
	const { cores, signal, onBlocked, idleCores, idleMs = 1000 } = options;
	const ids = new Set(tasks.map(({ id }) => id));
	for (const { id, needs } of tasks)
		for (const need of needs) if (!ids.has(need)) throw new Error(`${id} needs ${need}, which is not a task`);
	const paths = criticalPaths(tasks);
	const waiting = [...tasks].sort((a, b) => (paths.get(b.id) ?? 0) - (paths.get(a.id) ?? 0));
	const succeeded = new Map<string, boolean>();
	const running = new Set<Promise<void>>();
	let free = cores;
	/** Number of cores by which tasks may exceed the machine's, because running tasks leave some idle. */
	let lent = 0;

	const start = (task: Task): void => {
		waiting.splice(waiting.indexOf(task), 1);
		free -= task.cores;
		const run = task.run().then((success) => {
			succeeded.set(task.id, success);
			free += task.cores;
			running.delete(run);
		});
		running.add(run);
	};

	const isReady = (task: Task) => task.needs.every((id) => succeeded.get(id));
	const fits = (task: Task): boolean => {
		if (running.size === 0 || task.cores <= free + 1e-9) return true;
		return task.cores <= free + lent + 1e-9 && running.size < cores * tasksPerCore;
	};

	/** Adjusts `lent` to how idle the cores were. */
	const lend = (idle: number): void => {
		const next = waiting.find(isReady);
		if (idle < idleTooFew) lent = Math.max(0, lent - returnedCores);
		else if (idle >= idleEnough && next !== undefined && running.size < cores * tasksPerCore)
			lent = Math.max(lent, next.cores - free);
	};
	let wake = () => {};
	idleCores?.();
	const meter = setInterval(() => {
		if (idleCores !== undefined) lend(idleCores());
		wake();
	}, idleMs);

	for (;;) {
		for (const task of [...waiting]) {
			const by = task.needs.find((id) => succeeded.get(id) === false);
			if (by === undefined) continue;
			waiting.splice(waiting.indexOf(task), 1);
			succeeded.set(task.id, false);
			onBlocked(task, by);
		}
		if (!signal.aborted) {
			for (const task of [...waiting]) {
				if (!isReady(task)) continue;
				// The next task waits for enough free cores, and smaller tasks behind it must not take them.
				if (!fits(task)) break;
				start(task);
			}
		}
		if (running.size === 0) {
			if (signal.aborted || waiting.length === 0) break;
			continue;
		}
		await new Promise<void>((resolve) => {
			wake = resolve;
			void Promise.race(running).then(resolve);
		});
	}
	clearInterval(meter);
}
