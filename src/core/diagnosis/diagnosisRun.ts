import type { RecipeEdit } from '../../protocol/alert.ts';
import type { MetricsLine } from '../../protocol/metricsLine.ts';

/** A stage of the recipe, as far as rules ask for it. */
export interface DiagnosisStage {
	readonly type: string;
	/** The keys of the stage. */
	readonly settings: Readonly<Record<string, unknown>>;
}

/** What the rules know of a run beside its numbers. */
export interface DiagnosisRun {
	/** `reasoning-lab`, or the name of an importer's format. */
	readonly format: string;
	/** In the order of the recipe; empty: not known. */
	readonly rewards: readonly { readonly name: string; readonly weight: number }[];
	/** Of the frozen recipe; empty: another trainer's run, or not known. */
	readonly stages: readonly DiagnosisStage[];
	/** Of the frozen recipe; absent: another trainer's run, or not known. */
	readonly dataset?: Readonly<Record<string, unknown>>;
}

/** A row of metrics as rules read it. */
export class Row {
	readonly step: number;
	readonly time: number;
	readonly stage: string;
	readonly #values: MetricsLine['values'];
	#names: readonly string[] | null = null;

	constructor(line: MetricsLine) {
		this.step = line.step;
		this.time = line.time;
		this.stage = line.stage;
		this.#values = line.values;
	}

	/** null: not in this row, or no valid number. */
	get(name: string): number | null {
		return this.#values[name] ?? null;
	}

	/** Whether the row has the metric, be it without a valid number. */
	has(name: string): boolean {
		return this.#values[name] !== undefined;
	}

	get names(): readonly string[] {
		this.#names ??= Object.keys(this.#values);
		return this.#names;
	}
}

export type RecipePath = (string | number)[];

/** Which key of the recipe to change, to what in words, and as changes that can be applied. */
export interface RecipeAdvice {
	readonly path: RecipePath;
	readonly suggestion: string;
	readonly edits?: RecipeEdit[];
}

/** Which key of the recipe to change; null where the run has no recipe of ours. */
export function recipeAdvice(
	path: RecipePath | null,
	suggestion: string,
	edits: readonly RecipeEdit[] = [],
): RecipeAdvice | null {
	if (path === null) return null;
	return edits.length === 0 ? { path, suggestion } : { path, suggestion, edits: [...edits] };
}

/** Advice that sets one key; without a value only the words. */
export function setAdvice(path: RecipePath | null, suggestion: string, value: unknown): RecipeAdvice | null {
	return recipeAdvice(path, suggestion, path === null || value === null ? [] : [{ path, value }]);
}

/** The key of a run's RL stage; null where the recipe is not known. */
export function stagePath(run: DiagnosisRun, stage: string, key: string): RecipePath | null {
	const at = run.stages.findLastIndex(({ type }) => type === stage);
	return at < 0 ? null : ['stages', at, key];
}

/** Where a stage sets its clip range; null: it has none. */
export function clipPaths(run: DiagnosisRun, stage: string): Readonly<Record<'low' | 'high', RecipePath | null>> {
	return { low: stagePath(run, stage, 'epsilon'), high: stagePath(run, stage, 'epsilon_high') };
}

/** A key of the recipe itself; null where the recipe is not known. */
export function recipePath(run: DiagnosisRun, ...path: RecipePath): RecipePath | null {
	return run.stages.length === 0 ? null : path;
}

/** A number among the settings of a stage. */
export function stageSetting(run: DiagnosisRun, stage: string, key: string): number | null {
	const value = run.stages.findLast(({ type }) => type === stage)?.settings[key];
	return typeof value === 'number' ? value : null;
}
