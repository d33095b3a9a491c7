import { estimateRecipe, type MemoryEstimate } from '../core/memory/estimateRecipe.ts';
import type { ResolvedRecipe } from '../core/recipe/resolvedRecipe.ts';
import { memoryFacts } from '../runs/memoryFacts.ts';
import { type DeviceMemory, deviceMemory } from './machine/deviceMemory.ts';

export interface EstimateOptions {
	/** Of another machine: what it has; else this machine is inspected. */
	readonly device?: DeviceMemory;
	readonly signal?: AbortSignal;
}

/** Of a cluster's workers nothing is known here but whether they have GPUs. */
function clusterDevice({ device, ray }: ResolvedRecipe): DeviceMemory {
	const gpus = ray?.gpusPerWorker ?? (device === 'cuda' ? 1 : 0);
	return { device: gpus > 0 ? 'cuda' : 'cpu', bytes: null };
}

/**
 * The memory that a run of a recipe would take, against what the machine has. Reads configuration and data, loads
 * neither model nor PyTorch. Fails as `memoryFacts` and `estimateRecipe` do.
 */
export async function estimateMemory(recipe: ResolvedRecipe, options: EstimateOptions = {}): Promise<MemoryEstimate> {
	const facts = await memoryFacts(recipe);
	const { device, bytes } =
		options.device ??
		(recipe.engine === 'ray' ? clusterDevice(recipe) : await deviceMemory(recipe.device, options.signal));
	return estimateRecipe(recipe, { ...facts, device, deviceBytes: bytes });
}
