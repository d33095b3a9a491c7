export type Phase = 'generate' | 'environment' | 'reward' | 'logprobs' | 'update' | 'checkpoint' | 'evaluate';

/** Accumulates wall-clock seconds per phase, for display only. */
export class Stopwatch {
	#seconds = new Map<Phase, number>();

	async measure<T>(phase: Phase, task: () => Promise<T>): Promise<T> {
		const start = performance.now();
		try {
			return await task();
		} finally {
			this.add(phase, (performance.now() - start) / 1000);
		}
	}

	add(phase: Phase, seconds: number): void {
		this.#seconds.set(phase, (this.#seconds.get(phase) ?? 0) + seconds);
	}

	/** Returns the seconds spent in a phase since the last `take`, or 0 if the phase did not occur. */
	seconds(phase: Phase): number {
		return this.#seconds.get(phase) ?? 0;
	}

	/** Returns and resets `time/<phase>` for all phases since the last call, rounded to microseconds. */
	take(): Record<string, number> {
		const metrics: Record<string, number> = {};
		for (const [phase, seconds] of this.#seconds) metrics[`time/${phase}`] = Math.round(seconds * 1e6) / 1e6;
		this.#seconds.clear();
		return metrics;
	}
}
