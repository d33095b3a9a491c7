import { estimateEmbedded } from '../core/memory/embeddedMemory.ts';
import { estimateRecipe, type MemoryEstimate } from '../core/memory/estimateRecipe.ts';
import type { ResolvedRecipe } from '../core/recipe/resolvedRecipe.ts';
import { memoryFacts } from '../runs/memoryFacts.ts';
import { type DeviceMemory, deviceMemory } from './machine/deviceMemory.ts';

export interface EstimateOptions {
	/** Memory of another target device; by default, this machine is inspected. */
	readonly device?: DeviceMemory;
	readonly signal?: AbortSignal;
}

/** Returns the device for a Ray cluster. The only fact known in advance is whether the workers have GPUs. */
function clusterDevice({ device, ray }: ResolvedRecipe): DeviceMemory {
	const gpus = ray?.gpusPerWorker ?? (device === 'cuda' ? 1 : 0);
	return { device: gpus > 0 ? 'cuda' : 'cpu', bytes: null };
}

/**
 * Estimates the memory a recipe needs and compares it with the available memory. Reads configuration and data but loads
 * neither the model nor PyTorch. Fails with the same errors as `memoryFacts`, `estimateRecipe` and `estimateEmbedded`.
 */
export async function estimateMemory(recipe: ResolvedRecipe, options: EstimateOptions = {}): Promise<MemoryEstimate> {
	const facts = await memoryFacts(recipe);
	const { device, bytes } =
		options.device ??
		(recipe.engine === 'ray' ? clusterDevice(recipe) : await deviceMemory(recipe.device, options.signal));
	const estimate = recipe.engine === 'embedded' ? estimateEmbedded : estimateRecipe;
	return estimate(recipe, { ...facts, device, deviceBytes: bytes });
}
