import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';

/** A change to one key in a recipe: `stages.1.steps=50`. */
export interface RecipeOverride {
	readonly path: readonly string[];
	readonly value: unknown;
}

/** Parses `key.key=value`, where the value is JSON or, if it is not valid JSON, plain text. Fails with `invalid`. */
export function parseOverride(text: string): RecipeOverride {
	const sign = text.indexOf('=');
	const path = text.slice(0, Math.max(sign, 0)).split('.');
	if (sign < 1 || path.some((part) => part === '')) {
		throw new Failure('invalid', `"${text}" is not key=value.`, 'Use the form stages.1.steps=50.');
	}
	const written = text.slice(sign + 1);
	try {
		return { path, value: JSON.parse(written) };
	} catch {
		return { path, value: written };
	}
}

/** Returns a copy of the value with the changes applied. Fails with `invalid` if a path does not exist. */
export function applyOverrides(recipe: unknown, overrides: readonly RecipeOverride[]): unknown {
	const copy = structuredClone(recipe);
	for (const { path, value } of overrides) {
		let at: unknown = copy;
		for (const [i, part] of path.entries()) {
			const where = path.slice(0, i).join('.') || 'the recipe';
			const index = /^\d+$/.test(part) ? Number(part) : null;
			if (Array.isArray(at)) {
				if (index === null || index >= at.length) {
					throw new Failure(
						'invalid',
						`${path.join('.')}: ${where} has no entry ${part}; it has ${formatCounted(at.length, 'entry', 'entries')}, counted from 0.`,
					);
				}
			} else if (typeof at !== 'object' || at === null) {
				throw new Failure('invalid', `${path.join('.')}: ${where} has no keys.`);
			}
			const holder = at as Record<string, unknown>;
			if (part === '__proto__') throw new Failure('invalid', `"${part}" is not a recipe key.`);
			if (i === path.length - 1) holder[part] = value;
			else {
				if (!Object.hasOwn(holder, part)) holder[part] = {};
				at = holder[part];
			}
		}
	}
	return copy;
}

/** Shuffles the advantages in every GRPO stage and the pairs in every DPO stage, for the control experiment. */
export function shuffleOverrides(recipe: unknown): RecipeOverride[] {
	const stages = (recipe as { stages?: unknown } | null)?.stages;
	if (!Array.isArray(stages)) return [];
	return stages.flatMap((stage: { type?: unknown; stages?: unknown } | null, i) => {
		const place = ['stages', String(i)];
		if (stage?.type === 'grpo' || stage?.type === 'dpo') return [{ path: [...place, 'control'], value: 'shuffle' }];
		// Recurse into stages inside a loop.
		return shuffleOverrides(stage).map(({ path, value }) => ({ path: [...place, ...path], value }));
	});
}
