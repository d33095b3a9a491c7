import type { RecipeEdit } from '../../../src/protocol/alert.ts';

const isOwn = (key: string | number) => key !== '__proto__' && key !== 'constructor' && key !== 'prototype';

/**
 * Returns a copy of a recipe (JSON) with edits applied in order. Missing objects along a path are created. An edit is
 * skipped if its path crosses a value that is neither an object nor a list.
 */
export function applyRecipeEdits(recipe: unknown, edits: readonly RecipeEdit[]): unknown {
	const copy: unknown = JSON.parse(JSON.stringify(recipe));
	for (const { path, value } of edits) {
		const last = path.at(-1);
		if (last === undefined || !path.every(isOwn)) continue;
		let at: unknown = copy;
		for (const [i, key] of path.slice(0, -1).entries()) {
			if (typeof at !== 'object' || at === null) break;
			const holder = at as Record<string | number, unknown>;
			holder[key] ??= typeof path[i + 1] === 'number' ? [] : {};
			at = holder[key];
		}
		if (typeof at !== 'object' || at === null) continue;
		const holder = at as Record<string | number, unknown>;
		if (value !== undefined) holder[last] = value;
		else if (Array.isArray(at) && typeof last === 'number') at.splice(last, 1);
		else delete holder[last];
	}
	return copy;
}
