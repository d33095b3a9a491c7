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
