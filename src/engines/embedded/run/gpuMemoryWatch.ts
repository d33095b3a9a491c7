import { findNvidia } from '../../../processes/nvidia.ts';

/** Memory of a GPU, in bytes. */
export interface GpuMemory {
	/** Memory used by all processes. */
	readonly used: number;
	readonly total: number;
}

/** Time between readings. Each reading starts nvidia-smi, which takes a few dozen milliseconds. */
const pauseMs = 2000;

/**
 * Reads the memory of the NVIDIA GPU that the engine uses. Returns null if there are several: it is unknown which one
 * the engine uses, because CUDA and nvidia-smi number them differently.
 */
async function readNvidia(signal: AbortSignal): Promise<GpuMemory | null> {
	const { gpus = [] } = (await findNvidia(signal)) ?? {};
	const [only] = gpus;
	if (only === undefined || gpus.length > 1) return null;
	const { total, free } = only;
	return total === null || free === null ? null : { used: total - free, total };
}

/** Measures GPU memory while a run trains. */
export class GpuMemoryWatch {
	readonly total: number;
	readonly #read: typeof readNvidia;
	readonly #end = new AbortController();
	#timer: NodeJS.Timeout | undefined;
	/** The last reading, or null if it failed. */
	#newest: number | null;
	#peak: number | null;

	private constructor(first: GpuMemory, read: typeof readNvidia, paused: number) {
		this.total = first.total;
		this.#newest = first.used;
		this.#peak = first.used;
		this.#read = read;
		this.#wait(paused);
	}

	/** Returns null if no tool reports GPU memory. */
	static async start(read = readNvidia, paused = pauseMs): Promise<GpuMemoryWatch | null> {
		const first = await read(new AbortController().signal).catch(() => null);
		return first === null ? null : new GpuMemoryWatch(first, read, paused);
	}

	/** Returns the maximum of the readings since the last call, or the newest one if there was none; null if it failed. */
	take(): GpuMemory | null {
		const used = this.#peak;
		this.#peak = this.#newest;
		return used === null ? null : { used, total: this.total };
	}

	dispose(): void {
		clearTimeout(this.#timer);
		this.#end.abort();
	}

	#wait(paused: number): void {
		this.#timer = setTimeout(() => {
			void this.#measure().finally(() => {
				if (!this.#end.signal.aborted) this.#wait(paused);
			});
		}, paused).unref();
	}

	/** Skips failed readings, because the run does not depend on them. */
	async #measure(): Promise<void> {
		const memory = await this.#read(this.#end.signal).catch(() => null);
		this.#newest = memory?.used ?? null;
		if (memory !== null) this.#peak = Math.max(this.#peak ?? 0, memory.used);
	}
}
