import { Disposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import { shortState } from '../../core/episode/shortState.ts';
import type { ResolvedRecipe } from '../../core/recipe/resolvedRecipe.ts';
import type { EnvironmentRunner } from '../../episodes/environmentRunner.ts';
import { EpisodeFault, type EpisodeSession } from '../../episodes/episodeSession.ts';
import { openRunEnvironment } from '../../episodes/openRunEnvironment.ts';
import { rewardCopyPath } from '../../runs/rewardCopies.ts';
import { contract, type LinkParams, type LinkResult } from './trainerServer.ts';

/** The run's environment: instances in a supervised host process, which a trainer uses over its link. */
export class LinkEnvironments extends Disposable {
	readonly #folder: string;
	readonly #recipe: ResolvedRecipe;
	readonly #sessions = new Map<number, EpisodeSession>();
	#runner: Promise<EnvironmentRunner> | null = null;

	constructor(folder: string, recipe: ResolvedRecipe) {
		super();
		this.#folder = folder;
		this.#recipe = recipe;
	}

	/**
	 * Loads the environment. Fails with the same errors as `EnvironmentRunner.describe`, or with `invalid` if the
	 * recipe has none.
	 */
	async describe(): Promise<LinkResult<'environment/describe'>> {
		return { environment: await (await this.#open()).describe() };
	}

	async reset({ instance, row }: LinkParams<'environment/reset'>): Promise<LinkResult<'environment/reset'>> {
		const runner = await this.#open();
		await this.#sessions.get(instance)?.end();
		const session = runner.start(row, { instance, state: this.#recipe.log.states });
		this.#sessions.set(instance, session);
		return await orFault(async () => {
			const { observation, state } = await session.reset();
			return { observation, ...(state === undefined ? {} : { state: shortState(state) }) };
		});
	}

	async call(params: LinkParams<'environment/call'>): Promise<LinkResult<'environment/call'>> {
		const session = this.#session(params.instance);
		return await orFault(async () => {
			const { results, done, reward, state } = await session.call([{ name: params.name, arguments: params.arguments }]);
			const [result] = results;
			if (result === undefined) throw new Failure('internal', 'The environment host did not respond to a call.');
			const { content, failed, message } = result;
			return {
				...{ content, failed, done },
				...(message === undefined ? {} : { message }),
				...(reward === undefined ? {} : { reward }),
				...(state === undefined ? {} : { state: shortState(state) }),
			};
		});
	}

	async reward({ instance, messages }: LinkParams<'environment/reward'>): Promise<LinkResult<'environment/reward'>> {
		const session = this.#session(instance);
		const { ownsReward } = await (await this.#open()).describe();
		return await orFault(async () => ({ value: ownsReward ? await session.reward(messages) : null }));
	}

	/** Starts a new process for the next batch, so that fixes outside the environment file take effect. */
	async reload(): Promise<void> {
		await (await this.#open()).restart(this.#recipe.seed);
	}

	#session(instance: number): EpisodeSession {
		const session = this.#sessions.get(instance);
		if (session !== undefined) return session;
		throw contract(new Failure('invalid', `The trainer used the environment instance ${instance} before a reset.`));
	}

	#open(): Promise<EnvironmentRunner> {
		this.#runner ??= this.#start();
		return this.#runner;
	}

	async #start(): Promise<EnvironmentRunner> {
		if (this.#recipe.environment === undefined)
			throw contract(new Failure('invalid', 'The recipe has no environment.'));
		const copyOf = (file: string) => rewardCopyPath(this.#folder, this.#recipe, file);
		const opened = await openRunEnvironment(this.#recipe, copyOf);
		if (this.disposed) opened.dispose();
		else this.register(opened);
		return opened.runner;
	}
}

/** Returns the reply, or why the episode cannot continue. */
async function orFault<T extends object>(work: () => Promise<T>): Promise<T | { error: EpisodeFault['error'] }> {
	try {
		return await work();
	} catch (error) {
		if (error instanceof EpisodeFault) return { error: error.error };
		throw error;
	}
}
