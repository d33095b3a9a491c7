import type { RecipeEdit } from '../../protocol/alert.ts';

/** ["stages", 1, "temperature"] -> "stages.1.temperature", the syntax of `--set`. */
export function pathText(path: RecipeEdit['path']): string {
	return path.join('.');
}

/** Maximum number of list entries shown. */
const maxShown = 5;

/** Describes an edit in one line. */
export function editText({ path, value }: RecipeEdit): string {
	if (value === undefined) return `remove ${pathText(path)}`;
	if (!Array.isArray(value) || value.length <= maxShown) return `set ${pathText(path)} to ${JSON.stringify(value)}`;
	const shown = value.slice(0, maxShown).map((item) => JSON.stringify(item));
	return `set ${pathText(path)} to a list of ${value.length} items: ${shown.join(', ')}, ...`;
}

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
