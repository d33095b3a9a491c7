import type { ResolvedRecipe } from '../core/recipe/resolvedRecipe.ts';
import { estimateMemory } from '../environment/estimateMemory.ts';
import type { StageNeed } from './memoryRoom.ts';

/**
 * Estimates the memory use of a stage; null if unknown, as for searches with a PyTorch checkpoint, models that have not
 * been downloaded, and clusters.
 */
export async function stageNeed(recipe: ResolvedRecipe): Promise<StageNeed | null> {
	try {
		const { device, total, deviceBytes } = await estimateMemory(recipe);
		return deviceBytes === null ? null : { device, bytes: total, available: deviceBytes };
	} catch {
		return null;
	}
}
