import { extname } from 'node:path';
import { Disposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import type { ResolvedRecipe } from '../../core/recipe/resolvedRecipe.ts';
import { createScorers, type RecipeScorers } from '../../rewards/createScorers.ts';
import { openRewardHosts } from '../../rewards/openRewardHosts.ts';
import type { RewardHosts } from '../../rewards/rewardHosts.ts';
import { rewardCopyPath } from '../../runs/rewardCopies.ts';

/** How long the end of a run waits for its hosts to be gone, in milliseconds. They end with it in any case. */
const farewellMs = 1000;

/** The rewards of a run: its own copies, in processes that end with the engine. */
export class RunRewards extends Disposable {
	/** Rejects, and leaves no process behind, when a reward file is bad; or with `cancelled` after `dispose`. */
	readonly loaded: Promise<RecipeScorers>;
	#hosts: RewardHosts | null = null;

	/** Starts the hosts at once. The copies have been checked before. @param signal ends the loading, not what is loaded */
	constructor(run: string, recipe: ResolvedRecipe, signal?: AbortSignal) {
		super();
		this.loaded = this.#load(run, recipe, signal);
		// Waited for later; until then a failure is not unhandled.
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

	/** Ends the hosts and waits for that. */
	async close(): Promise<void> {
		this.dispose();
		await Promise.race([this.#hosts?.closed(), new Promise((resolve) => setTimeout(resolve, farewellMs))]);
	}
}
