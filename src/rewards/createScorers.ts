import { Sequencer } from '../base/async.ts';
import { Failure } from '../base/failure.ts';
import { verifiedTask } from '../core/dataset/readableHere.ts';
import type { ResolvedRecipe } from '../core/recipe/resolvedRecipe.ts';
import type { RewardContext, RewardDescription } from '../protocol/rewardHost.ts';
import type { ScoreRow } from '../protocol/scorer.ts';
import { type RewardColumn, rewardColumns } from './rewardColumns.ts';
import type { RewardLimits, RewardRunner, RewardSource, RunnerScore } from './rewardRunner.ts';

/** Source of reward runners, such as `RewardHosts`. */
export interface RunnerSource {
	open(source: RewardSource, limits?: Partial<RewardLimits>): RewardRunner;
}

export interface ScorerOptions {
	readonly recipe: Pick<ResolvedRecipe, 'rewards' | 'template' | 'dataset' | 'scoring'>;
	/** Returns the absolute path to the file in a recipe entry. */
	locate(file: string): string;
	/** Base folder for relative paths in built-in rewards. */
	readonly folder: string;
	readonly hosts: RunnerSource;
	readonly signal?: AbortSignal;
}

/** One of the recipe's reward columns, with the process that scores it. */
export interface RewardScorer {
	readonly column: RewardColumn;
	/**
	 * Returns one value per row. All errors are in the result; rejects only with `cancelled`.
	 * @param options.step number of optimizer updates completed before the batch
	 */
	score(rows: readonly ScoreRow[], options?: { step?: number; signal?: AbortSignal }): Promise<RunnerScore>;
}

export interface RecipeScorers {
	/** Scorers in recipe order. */
	readonly scorers: readonly RewardScorer[];
	/** Accuracy used in evaluations: the recipe's own, or the built-in one if the recipe has none. */
	readonly accuracy: RewardScorer;
	/** Restarts the processes before the next batch. */
	reload(): void;
	dispose(): void;
}

/** Returns the context in which a recipe's rewards are evaluated. */
export function contextOf(recipe: ScorerOptions['recipe'], folder: string): RewardContext {
	const { think, answer, prompt } = recipe.template;
	return { tags: { think, answer }, task: verifiedTask(recipe.dataset), folder, prompt };
}

/**
 * Limits for the process that runs built-in rewards. Their programs, servers and comparisons have their own limits, so
 * these are generous and only matter if the process hangs.
 */
const builtInLimits: Partial<RewardLimits> = { batchMs: 1_800_000, rowMs: 300_000 };

/**
 * Loads a recipe's rewards: all built-in rewards in one process, and each reward file in a separate process. All
 * processes start in parallel. Fails with the same errors as `RewardRunner.describe`, and with `invalid` for a reward
 * name that does not exist in its file. Leaves no processes running on failure.
 */
export async function createScorers(options: ScorerOptions): Promise<RecipeScorers> {
	const { recipe, hosts, signal } = options;
	const { scoring } = recipe;
	const context = contextOf(recipe, options.folder);
	const limits: Partial<RewardLimits> = {
		batchMs: scoring.batchSeconds * 1000,
		rowMs: scoring.rowSeconds * 1000,
		loadMs: scoring.loadSeconds * 1000,
		memoryMb: scoring.memoryMb,
	};
	const entries = recipe.rewards.flatMap((reward) => ('use' in reward ? [reward] : []));
	const accuracy = entries.find(({ use }) => use === 'accuracy') ?? {
		use: 'accuracy' as const,
		name: freeName(entries.map(({ name }) => name)),
		weight: 1,
	};
	const all = entries.includes(accuracy) ? entries : [...entries, accuracy];
	const runners: RewardRunner[] = [];
	const dispose = () => {
		for (const runner of runners) runner.dispose();
	};
	const open = (source: RewardSource, more: Partial<RewardLimits>) => {
		const runner = hosts.open(source, { ...limits, ...more });
		runners.push(runner);
		return { runner, turns: new Sequencer() };
	};
	try {
		const builtIn = open({ builtIns: all.map(({ weight: _, ...entry }) => entry), context }, builtInLimits);
		const files = new Map<string, ReturnType<typeof open>>();
		for (const reward of recipe.rewards) {
			if (!('file' in reward) || files.has(reward.file)) continue;
			files.set(reward.file, open({ file: options.locate(reward.file), context }, {}));
		}
		const described = new Map<string, readonly RewardDescription[]>();
		await Promise.all([
			builtIn.runner.describe(signal),
			...[...files].map(async ([file, { runner }]) => described.set(file, await runner.describe(signal))),
		]);
		const scorer = (column: RewardColumn): RewardScorer => {
			const { runner, turns } = column.file === null ? builtIn : (files.get(column.file) as typeof builtIn);
			return {
				column,
				score: (rows, { step = 0, signal } = {}) =>
					turns.queue(() => scoreRows(runner, column.reward, rows, { step, ...(signal ? { signal } : {}) })),
			};
		};
		const { name, weight } = accuracy;
		return {
			scorers: rewardColumns(recipe.rewards, described).map(scorer),
			accuracy: scorer({ name, weight, file: null, reward: name, batchOnly: false, required: [] }),
			reload() {
				for (const runner of runners) runner.reload();
			},
			dispose,
		};
	} catch (error) {
		dispose();
		throw error;
	}
}

function freeName(taken: readonly string[]): string {
	let name = 'accuracy';
	while (taken.includes(name)) name += '_';
	return name;
}

/** Scores rows. A reward that can no longer be loaded counts as failed on all rows. */
async function scoreRows(
	runner: RewardRunner,
	reward: string,
	rows: readonly ScoreRow[],
	options: { step: number; signal?: AbortSignal },
): Promise<RunnerScore> {
	try {
		return await runner.score(reward, rows, options);
	} catch (error) {
		const failure = Failure.from(error);
		if (failure.reason === 'cancelled') throw failure;
		const line = (error as { line?: unknown }).line;
		return {
			values: rows.map(() => null),
			errors: [{ index: -1, kind: 'load', message: failure.message, ...(typeof line === 'number' ? { line } : {}) }],
			logs: [],
			durationMs: 0,
		};
	}
}
