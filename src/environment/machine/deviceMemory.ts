import { totalmem } from 'node:os';
import type { MemoryDevice } from '../../core/memory/estimateRecipe.ts';
import { findNvidia } from './nvidia.ts';

/** What a recipe would be computed on here, and the bytes that it has. */
export interface DeviceMemory {
	readonly device: MemoryDevice;
	/** Of the smallest GPU, or of the machine; null: not known, as of a cluster's. */
	readonly bytes: number | null;
}

/** The device that a recipe's `device` comes to on this machine. */
export async function deviceMemory(wanted: string, signal?: AbortSignal): Promise<DeviceMemory> {
	if (wanted === 'cpu') return { device: 'cpu', bytes: totalmem() };
	const totals = ((await findNvidia(signal))?.gpus ?? []).flatMap(({ total }) => (total === null ? [] : [total]));
	if (totals.length > 0) return { device: 'cuda', bytes: Math.min(...totals) };
	return wanted === 'cuda' ? { device: 'cuda', bytes: null } : { device: 'cpu', bytes: totalmem() };
}
