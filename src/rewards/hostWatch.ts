import { readFile } from 'node:fs/promises';
import type { ProcessTree } from '../processes/processTree.ts';
import type { RewardLimits } from './rewardRunner.ts';

/** Intervals, in milliseconds, for checking the main process and for checking all processes on the machine. */
const glanceMs = 50;
const fullMs = 1000;
const shortestFullMs = 150;

export type WatchLimits = Pick<RewardLimits, 'memoryMb' | 'processes'>;

export interface Excess {
	readonly kind: 'memory' | 'processes';
	/** Description of what user code did, as a predicate: "used 3000 MB of memory, ...". */
	readonly excess: string;
}

/**
 * Monitors the resource usage of a host's process tree while it is working. Checks are cheap and asynchronous. The full
 * process table is read once a second, and immediately if the number of tasks on the machine jumps.
 */
export class HostWatch {
	readonly #tree: ProcessTree;
	/** Resource limits. If the process limit is infinite, only the main process is monitored. */
	limits: WatchLimits;
	/** Number of processes in the tree that do not belong to the reward. */
	readonly #own: number;
	readonly #exceeded: (excess: Excess) => void;
	#timer: NodeJS.Timeout | null = null;
	#running = 0;
	#fullAt = 0;
	#tasks = 0;

	constructor(tree: ProcessTree, limits: WatchLimits, own: number, exceeded: (excess: Excess) => void) {
		this.#tree = tree;
		this.limits = limits;
		this.#own = own;
		this.#exceeded = exceeded;
	}

	start(): void {
		if (process.platform === 'win32') return;
		const run = ++this.#running;
		this.#schedule(run, process.platform === 'linux' ? glanceMs / 2 : fullMs / 4);
	}

	stop(): void {
		this.#running++;
		if (this.#timer !== null) clearTimeout(this.#timer);
		this.#timer = null;
	}

	#schedule(run: number, ms: number): void {
		this.#timer = setTimeout(() => {
			void this.#look().then(
				(excess) => {
					if (run !== this.#running) return;
					if (excess !== null) this.#exceeded(excess);
					else this.#schedule(run, process.platform === 'linux' ? glanceMs : fullMs / 2);
				},
				() => {
					if (run === this.#running) this.#schedule(run, fullMs);
				},
			);
		}, ms);
	}

	async #look(): Promise<Excess | null> {
		const { memoryMb, processes } = this.limits;
		const now = performance.now();
		if (process.platform === 'linux') {
			const glance = await this.#tree.glance();
			if (glance === null) return null;
			if (glance.memoryMb > memoryMb) return this.#tooMuch(glance.memoryMb);
			if (processes === Number.POSITIVE_INFINITY) return null;
			if (glance.children > processes) return this.#tooMany(glance.children);
			const tasks = await countTasks();
			const jump = tasks - this.#tasks > 8 && now - this.#fullAt > shortestFullMs;
			if (!jump && now - this.#fullAt < fullMs) return null;
			this.#tasks = tasks;
		}
		this.#fullAt = now;
		const usage = await this.#tree.usage();
		if (usage.memoryMb > memoryMb) return this.#tooMuch(usage.memoryMb);
		const count = usage.processes - this.#own;
		return count > processes ? this.#tooMany(count) : null;
	}

	#tooMuch(mb: number): Excess {
		return {
			kind: 'memory',
			excess: `used ${Math.round(mb)} MB of memory, exceeding its limit of ${this.limits.memoryMb} MB`,
		};
	}

	#tooMany(count: number): Excess {
		return {
			kind: 'processes',
			excess: `had ${count} processes, exceeding its limit of ${this.limits.processes}`,
		};
	}
}

/**
 * Returns the number of processes and threads on the machine, from the fourth field of /proc/loadavg, `running/all`.
 */
async function countTasks(): Promise<number> {
	const text = await readFile('/proc/loadavg', 'latin1').catch(() => '');
	return Number(text.split(' ')[3]?.split('/')[1] ?? 0);
}
