/** A recipe key and its value in each run. */
export interface RecipeRow {
	/** Key path, such as `stages[1].learning_rate`. */
	readonly key: string;
	/** JSON-encoded values, or null for runs whose recipe lacks the key. */
	readonly values: readonly (string | null)[];
}

export interface RecipeDiff {
	/** Keys whose values differ among the runs that have a recipe. */
	readonly changed: readonly RecipeRow[];
	/** Number of keys with equal values. */
	readonly same: number;
	/** Indices of runs without a recipe. All values for these runs are null. */
	readonly without: readonly number[];
	/** Number of keys omitted because of the comparison limit. */
	readonly cut: number;
}

const limits = { keys: 5000, value: 2000, depth: 30 } as const;

/**
 * Compares resolved recipes key by key. Keys appear in the order of the first recipe that has them.
 * @param recipes one per run; undefined if a run has no recipe
 */
export function recipeDiff(recipes: readonly unknown[]): RecipeDiff {
	const flat = recipes.map((recipe) => (recipe === undefined ? null : flattenRecipe(recipe)));
	const without = flat.flatMap((table, i) => (table === null ? [i] : []));
	const keys = new Set<string>();
	let cut = 0;
	for (const table of flat) {
		for (const key of table?.keys() ?? []) {
			if (keys.size < limits.keys) keys.add(key);
			else if (!keys.has(key)) cut++;
		}
	}
	const changed: RecipeRow[] = [];
	let same = 0;
	for (const key of keys) {
		const values = flat.map((table) => table?.get(key) ?? null);
		const present = values.filter((_, i) => flat[i] !== null);
		// Compare full values; truncate only for display.
		if (new Set(present).size > 1) changed.push({ key, values: values.map((value) => value && shortened(value)) });
		else same++;
	}
	return { changed, same, without, cut };
}

/** Flattens a recipe into a map from path to value. Empty lists and objects count as values. */
export function flattenRecipe(recipe: unknown): Map<string, string> {
	const flat = new Map<string, string>();
	flatten(recipe, '', flat, 0);
	return flat;
}

function flatten(value: unknown, path: string, flat: Map<string, string>, depth: number): void {
	if (flat.size >= limits.keys) return;
	const inner =
		depth >= limits.depth || typeof value !== 'object' || value === null
			? []
			: Array.isArray(value)
				? value.map((item, i) => [`${path}[${i}]`, item] as const)
				: Object.entries(value).map(([key, item]) => [path === '' ? key : `${path}.${key}`, item] as const);
	if (inner.length === 0) {
		if (path === '' && typeof value === 'object') return;
		flat.set(path, valueText(value));
		return;
	}
	// Keep a list of scalars as a single value: [0, 0.9] is easier to read than two rows.
	if (Array.isArray(value) && value.every((item) => typeof item !== 'object' || item === null)) {
		flat.set(path, valueText(value));
		return;
	}
	for (const [key, item] of inner) flatten(item, key, flat, depth + 1);
}

function shortened(text: string): string {
	return text.length > limits.value ? `${text.slice(0, limits.value)}…` : text;
}

function valueText(value: unknown): string {
	try {
		return JSON.stringify(value) ?? 'null';
	} catch {
		return '"too deep to compare"';
	}
}
