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
		// With "auto", the embedded engine may use the CPU even with a GPU, which is known only once it has started.
		const open = recipe.engine === 'embedded' && recipe.device === 'auto' && device !== 'cpu';
		if (deviceBytes === null || open) return null;
		return { device: device === 'cpu' ? 'cpu' : 'cuda', bytes: total, available: deviceBytes };
	} catch {
		return null;
	}
}
