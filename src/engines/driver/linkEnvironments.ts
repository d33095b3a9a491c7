import { Disposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import { shortState } from '../../core/episode/shortState.ts';
import type { ResolvedRecipe } from '../../core/recipe/resolvedRecipe.ts';
import type { EnvironmentRunner } from '../../episodes/environmentRunner.ts';
import { EpisodeFault, type EpisodeSession } from '../../episodes/episodeSession.ts';
import { openRunEnvironment } from '../../episodes/openRunEnvironment.ts';
import { rewardCopyPath } from '../../runs/rewardCopies.ts';
import { contract, type LinkParams, type LinkResult } from './trainerServer.ts';

/** A training process's instances, which run in a separate host process. */
interface OwnInstances {
	readonly seed: number;
	readonly runner: Promise<EnvironmentRunner>;
	readonly sessions: Map<number, EpisodeSession>;
}

/**
 * The run's environment, which a trainer uses over its link: instances in supervised host processes, one per training
 * process.
 */
export class LinkEnvironments extends Disposable {
	readonly #folder: string;
	readonly #recipe: ResolvedRecipe;
	readonly #processes: number;
	readonly #instances = new Map<number, OwnInstances>();

	/** @param processes number of training processes */
	constructor(folder: string, recipe: ResolvedRecipe, processes = 1) {
		super();
		this.#folder = folder;
		this.#recipe = recipe;
		this.#processes = processes;
	}

	/**
	 * Loads the environment. Fails with the same errors as `EnvironmentRunner.describe`, or with `invalid` if the
	 * recipe has none.
	 */
	async describe(): Promise<LinkResult<'environment/describe'>> {
		return { environment: await (await this.#open(0).runner).describe() };
	}

	async reset({
		process = 0,
		instance,
		row,
	}: LinkParams<'environment/reset'>): Promise<LinkResult<'environment/reset'>> {
		const { sessions, ...own } = this.#open(process);
		const runner = await own.runner;
		await sessions.get(instance)?.end();
		const session = runner.start(row, { instance, state: this.#recipe.log.states });
		sessions.set(instance, session);
		return await orFault(async () => {
			const { observation, state } = await session.reset();
			return { observation, ...(state === undefined ? {} : { state: shortState(state) }) };
		});
	}

	async call(params: LinkParams<'environment/call'>): Promise<LinkResult<'environment/call'>> {
		const session = this.#session(params);
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

	async reward(params: LinkParams<'environment/reward'>): Promise<LinkResult<'environment/reward'>> {
		const { process = 0, messages } = params;
		const session = this.#session(params);
		const { ownsReward } = await (await this.#open(process).runner).describe();
		return await orFault(async () => ({ value: ownsReward ? await session.reward(messages) : null }));
	}

	/** Starts new processes for the next batch, so that fixes outside the environment file take effect. */
	async reload(): Promise<void> {
		await Promise.all([...this.#instances.values()].map(async ({ runner, seed }) => (await runner).restart(seed)));
	}

	#session({ process = 0, instance }: Pick<LinkParams<'environment/reset'>, 'process' | 'instance'>): EpisodeSession {
		const session = this.#instances.get(process)?.sessions.get(instance);
		if (session !== undefined) return session;
		throw contract(new Failure('invalid', `The trainer used the environment instance ${instance} before a reset.`));
	}

	#open(process: number): OwnInstances {
		if (process >= this.#processes) {
			const message = `Process ${process} used the environment, but the highest process number is ${this.#processes - 1}.`;
			throw contract(new Failure('invalid', message));
		}
		let own = this.#instances.get(process);
		if (own === undefined) {
			// Random numbers that do not come from the row must differ between processes.
			const seed = this.#recipe.seed + process;
			own = { seed, runner: this.#start(seed), sessions: new Map() };
			this.#instances.set(process, own);
		}
		return own;
	}

	async #start(seed: number): Promise<EnvironmentRunner> {
		if (this.#recipe.environment === undefined)
			throw contract(new Failure('invalid', 'The recipe has no environment.'));
		const copyOf = (file: string) => rewardCopyPath(this.#folder, this.#recipe, file);
		const opened = await openRunEnvironment({ ...this.#recipe, seed }, copyOf);
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
