import type { RecipeEdit } from '../../protocol/alert.ts';
import type { MetricsLine } from '../../protocol/metricsLine.ts';

/** A stage of the recipe, as far as rules need it. */
export interface DiagnosisStage {
	readonly type: string;
	/** Recipe keys of the stage. */
	readonly settings: Readonly<Record<string, unknown>>;
}

/** What the rules know about a run besides its metrics. */
export interface DiagnosisRun {
	/** `reasoning-lab`, or the name of an importer's format. */
	readonly format: string;
	/** In recipe order; empty if unknown. */
	readonly rewards: readonly { readonly name: string; readonly weight: number }[];
	/** From the frozen recipe; empty for runs of other trainers and if unknown. */
	readonly stages: readonly DiagnosisStage[];
	/** From the frozen recipe; absent for runs of other trainers and if unknown. */
	readonly dataset?: Readonly<Record<string, unknown>>;
}

/** A row of metrics as read by rules. */
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

	/** Returns the value of a metric; null if the row lacks it or it is not a valid number. */
	get(name: string): number | null {
		return this.#values[name] ?? null;
	}

	/** Whether the row has the metric, even without a valid number. */
	has(name: string): boolean {
		return this.#values[name] !== undefined;
	}

	get names(): readonly string[] {
		this.#names ??= Object.keys(this.#values);
		return this.#names;
	}
}

export type RecipePath = (string | number)[];

/** A suggested recipe change: the key, the new value in words, and edits that can be applied. */
export interface RecipeAdvice {
	readonly path: RecipePath;
	readonly suggestion: string;
	readonly edits?: RecipeEdit[];
}

/** Returns the key to change; null if the run has no recipe of this format. */
export function recipeAdvice(
	path: RecipePath | null,
	suggestion: string,
	edits: readonly RecipeEdit[] = [],
): RecipeAdvice | null {
	if (path === null) return null;
	return edits.length === 0 ? { path, suggestion } : { path, suggestion, edits: [...edits] };
}

/** Advice that sets one key. Without a value, it consists of words only. */
export function setAdvice(path: RecipePath | null, suggestion: string, value: unknown): RecipeAdvice | null {
	return recipeAdvice(path, suggestion, path === null || value === null ? [] : [{ path, value }]);
}

/** Returns the path of a key of the RL stage; null if the recipe is unknown. */
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

/** Returns a numeric setting of a stage. */
export function stageSetting(run: DiagnosisRun, stage: string, key: string): number | null {
	const value = run.stages.findLast(({ type }) => type === stage)?.settings[key];
	return typeof value === 'number' ? value : null;
}
