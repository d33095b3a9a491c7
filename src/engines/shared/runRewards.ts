import { extname } from 'node:path';
import { Disposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import type { ResolvedRecipe } from '../../core/recipe/resolvedRecipe.ts';
import { createScorers, type RecipeScorers } from '../../rewards/createScorers.ts';
import { openRewardHosts } from '../../rewards/openRewardHosts.ts';
import type { RewardHosts } from '../../rewards/rewardHosts.ts';
import { rewardCopyPath } from '../../runs/rewardCopies.ts';

/**
 * Time in milliseconds that a finished run waits for its reward hosts to exit. They exit with the engine in any case.
 */
const farewellMs = 1000;

/** A run's rewards: its own copies of the files, in processes that exit with the engine. */
export class RunRewards extends Disposable {
	/**
	 * Resolves when all rewards are loaded. Rejects if a reward file is invalid (without leaving processes behind), or
	 * with `cancelled` after `dispose`.
	 */
	readonly loaded: Promise<RecipeScorers>;
	#hosts: RewardHosts | null = null;

	/**
	 * Starts the hosts immediately. The reward copies must already be verified.
	 * @param signal aborts loading, but does not affect rewards that have loaded
	 */
	constructor(run: string, recipe: ResolvedRecipe, signal?: AbortSignal) {
		super();
		this.loaded = this.#load(run, recipe, signal);
		// The promise is awaited later. Until then, a rejection must not count as unhandled.
		this.loaded.catch(() => undefined);
	}

	async #load(run: string, recipe: ResolvedRecipe, signal: AbortSignal | undefined): Promise<RecipeScorers> {
		const python = recipe.rewards.some((reward) => 'file' in reward && extname(reward.file) === '.py');
		const hosts = await openRewardHosts({ python });
		if (this.disposed) throw new Failure('cancelled', 'The run has ended.');
		this.#hosts = this.register(hosts);
		return createScorers({
			recipe,
			hosts,
			folder: run,
			locate: (file) => rewardCopyPath(run, recipe, file),
			...(signal === undefined ? {} : { signal }),
		});
	}

	/** Stops the hosts and waits for them. */
	async close(): Promise<void> {
		this.dispose();
		await Promise.race([this.#hosts?.closed(), new Promise((resolve) => setTimeout(resolve, farewellMs))]);
	}
}
