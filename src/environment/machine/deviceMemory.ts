import { totalmem } from 'node:os';
import type { MemoryDevice } from '../../core/memory/estimateRecipe.ts';
import { findNvidia } from '../../processes/nvidia.ts';

/** The device a recipe would use on this machine, and its memory. */
export interface DeviceMemory {
	readonly device: MemoryDevice;
	/** Memory in bytes of the smallest GPU, or of the machine; null if unknown, as for a cluster. */
	readonly bytes: number | null;
}

/** Resolves the `device` setting of a recipe on this machine. */
export async function deviceMemory(wanted: string, signal?: AbortSignal): Promise<DeviceMemory> {
	if (wanted === 'cpu') return { device: 'cpu', bytes: machineMemory() };
	const totals = ((await findNvidia(signal))?.gpus ?? []).flatMap(({ total }) => (total === null ? [] : [total]));
	if (totals.length > 0) return { device: 'cuda', bytes: Math.min(...totals) };
	// Only nvidia-smi reports GPU memory.
	return wanted === 'auto' ? { device: 'cpu', bytes: machineMemory() } : { device: 'cuda', bytes: null };
}

/** Returns the memory of this machine, or the container's memory limit if it has one, in bytes. */
function machineMemory(): number {
	// Zero or a huge number if there is no limit.
	const limit = process.constrainedMemory?.() ?? 0;
	return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}
