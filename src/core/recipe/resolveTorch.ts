import type { PytorchSettings, RaySettings } from '../../protocol/torchRecipe.ts';
import { hasHubForm } from './hubId.ts';
import type { Machine } from './machine.ts';
import { recipeDefaults } from './recipeDefaults.ts';
import { filled, given } from './recipeValues.ts';
import type { ResolvedPytorch, ResolvedRay } from './resolvedRecipe.ts';

/** A hub id is left as it is, unless something lies at the path that it would be; anything else is made absolute. */
export function modelPath(path: string, machine: Machine): string {
	const absolute = machine.resolvePath(path);
	return hasHubForm(path) && !machine.exists?.(absolute) ? path : absolute;
}

export function resolvePytorch(pytorch: PytorchSettings | undefined): ResolvedPytorch {
	const { lora, vllm, ...rest } = pytorch ?? {};
	const adapters = lora === undefined ? null : filled(recipeDefaults.lora, lora);
	return {
		...recipeDefaults.pytorch,
		...given(rest),
		lora: adapters === null ? null : { ...adapters, alpha: lora?.alpha ?? 2 * adapters.r },
		vllm: vllm === undefined ? null : { ...recipeDefaults.vllm, ...given(vllm) },
		precision: rest.precision ?? null,
		microBatch: rest.microBatch ?? null,
	};
}

export function resolveRay(ray: RaySettings | undefined, machine: Machine): ResolvedRay {
	return {
		...recipeDefaults.ray,
		...given(ray ?? {}),
		storage: ray?.storage === undefined ? null : machine.resolvePath(ray.storage),
		pip: [...(ray?.pip ?? recipeDefaults.ray.pip)],
	};
}
