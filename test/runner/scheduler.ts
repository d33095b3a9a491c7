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
	 * Returns how many cores were idle since the last call. While at least half a core is, because tasks wait for
	 * something, one more task starts. Default: none.
	 */
	readonly idleCores?: () => number;
	/** Milliseconds between calls of `idleCores`. */
	readonly idleMs?: number;
}

/** Tasks per core that run at most, no matter how idle the cores are: each one also takes memory. */
const tasksPerCore = 3;

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
	const { cores, signal, onBlocked, idleCores, idleMs = 2000 } = options;
	const ids = new Set(tasks.map(({ id }) => id));
	for (const { id, needs } of tasks)
		for (const need of needs) if (!ids.has(need)) throw new Error(`${id} needs ${need}, which is not a task`);
	const paths = criticalPaths(tasks);
	const waiting = [...tasks].sort((a, b) => (paths.get(b.id) ?? 0) - (paths.get(a.id) ?? 0));
	const succeeded = new Map<string, boolean>();
	const running = new Set<Promise<void>>();
	let free = cores;
	let mayExceed = false;

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

	/** Waits until a task has ended, or until cores are idle although more tasks could run. */
	const firstOf = async (ends: ReadonlySet<Promise<void>>): Promise<'end' | 'idle'> => {
		const ended = Promise.race(ends).then(() => 'end' as const);
		if (idleCores === undefined || waiting.length === 0) return await ended;
		idleCores();
		for (;;) {
			let timer: NodeJS.Timeout | undefined;
			const tick = new Promise<'tick'>((resolve) => {
				timer = setTimeout(() => resolve('tick'), idleMs);
			});
			const first = await Promise.race([ended, tick]);
			clearTimeout(timer);
			if (first === 'end') return first;
			if (idleCores() >= 0.5 && ends.size < cores * tasksPerCore) return 'idle';
		}
	};

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
				if (!task.needs.every((id) => succeeded.get(id))) continue;
				// The next task waits for enough free cores, and smaller tasks behind it must not take them.
				if (task.cores > free + 1e-9 && running.size > 0 && !mayExceed) break;
				start(task);
				mayExceed = false;
			}
		}
		if (running.size === 0) {
			if (signal.aborted || waiting.length === 0) return;
			continue;
		}
		mayExceed = (await firstOf(running)) === 'idle';
	}
}
