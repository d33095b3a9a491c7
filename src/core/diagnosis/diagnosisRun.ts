import type { RecipeEdit } from '../../protocol/alert.ts';
import type { MetricsLine } from '../../protocol/metricsLine.ts';
import { upperRange } from '../../protocol/recipeKeys/groupStages.ts';

/** A recipe stage, reduced to what rules need. */
export interface DiagnosisStage {
	readonly type: string;
	/** Stage settings by recipe key. */
	readonly settings: Readonly<Record<string, unknown>>;
}

/** Run information available to rules in addition to metrics. */
export interface DiagnosisRun {
	/** `reasoning-lab`, or the format name of an importer. */
	readonly format: string;
	/** Rewards in recipe order. Empty if unknown. */
	readonly rewards: readonly { readonly name: string; readonly weight: number }[];
	/** Stages from the frozen recipe. Empty if unknown or if the run is from another trainer. */
	readonly stages: readonly DiagnosisStage[];
	/** Turn limit of the recipe's environment. Absent if there is none. */
	readonly maxTurns?: number;
	/** Dataset from the frozen recipe. Absent if unknown or if the run is from another trainer. */
	readonly dataset?: Readonly<Record<string, unknown>>;
}

/** A metric row, as read by rules. */
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

	/** Returns the value of a metric, or null if it is missing or not a valid number. */
	get(name: string): number | null {
		return this.#values[name] ?? null;
	}

	/** Returns whether the row has the metric, even if its value is not a valid number. */
	has(name: string): boolean {
		return this.#values[name] !== undefined;
	}

	get names(): readonly string[] {
		this.#names ??= Object.keys(this.#values);
		return this.#names;
	}
}

export type RecipePath = (string | number)[];

/** A suggested recipe change: the key, a description of the new value, and edits that can be applied. */
export interface RecipeAdvice {
	readonly path: RecipePath;
	readonly suggestion: string;
	readonly edits?: RecipeEdit[];
}

/** Creates advice to change a key. Returns null if the run has no recipe in this format. */
export function recipeAdvice(
	path: RecipePath | null,
	suggestion: string,
	edits: readonly RecipeEdit[] = [],
): RecipeAdvice | null {
	if (path === null) return null;
	return edits.length === 0 ? { path, suggestion } : { path, suggestion, edits: [...edits] };
}

/** Creates advice that sets one key. Without a value, the advice is text only. */
export function setAdvice(path: RecipePath | null, suggestion: string, value: unknown): RecipeAdvice | null {
	return recipeAdvice(path, suggestion, path === null || value === null ? [] : [{ path, value }]);
}

/** Returns the path of a key in the RL stage, or null if the recipe is unknown. */
export function stagePath(run: DiagnosisRun, stage: string, key: string): RecipePath | null {
	const at = run.stages.findLastIndex(({ type }) => type === stage);
	return at < 0 ? null : ['stages', at, key];
}

/** Returns the paths of a stage's clip range settings, or null for a setting that the stage does not have. */
export function clipPaths(run: DiagnosisRun, stage: string): Readonly<Record<'low' | 'high', RecipePath | null>> {
	return { low: stagePath(run, stage, 'epsilon'), high: stagePath(run, stage, upperRange) };
}

/** Returns the path of a top-level recipe key, or null if the recipe is unknown. */
export function recipePath(run: DiagnosisRun, ...path: RecipePath): RecipePath | null {
	return run.stages.length === 0 ? null : path;
}

/** Returns the value of a numeric stage setting. */
export function stageSetting(run: DiagnosisRun, stage: string, key: string): number | null {
	const value = run.stages.findLast(({ type }) => type === stage)?.settings[key];
	return typeof value === 'number' ? value : null;
}
