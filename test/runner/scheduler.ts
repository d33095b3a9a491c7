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
}

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
export async function schedule(tasks: readonly Task[], { cores, signal, onBlocked }: ScheduleOptions): Promise<void> {
	const ids = new Set(tasks.map(({ id }) => id));
	for (const { id, needs } of tasks)
		for (const need of needs) if (!ids.has(need)) throw new Error(`${id} needs ${need}, which is not a task`);
	const paths = criticalPaths(tasks);
	const waiting = [...tasks].sort((a, b) => (paths.get(b.id) ?? 0) - (paths.get(a.id) ?? 0));
	const succeeded = new Map<string, boolean>();
	const running = new Set<Promise<void>>();
	let free = cores;

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
				if (task.cores > free + 1e-9 && running.size > 0) break;
				start(task);
			}
		}
		if (running.size === 0) {
			if (signal.aborted || waiting.length === 0) return;
			continue;
		}
		await Promise.race(running);
	}
}
