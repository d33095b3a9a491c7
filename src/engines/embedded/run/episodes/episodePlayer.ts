import { Sequencer } from '../../../../base/async.ts';
import { Failure } from '../../../../base/failure.ts';
import type { Problem } from '../../../../core/dataset/problem.ts';
import type { EpisodeError } from '../../../../protocol/episode.ts';
import type { Sample, SampleRequest } from '../../learner.ts';
import type { EpisodeText } from './episodeText.ts';
import { type EpisodeLimits, LiveEpisode, type PlayedEpisode } from './liveEpisode.ts';
import type { OpenedEnvironment } from './openedEnvironment.ts';

export interface EpisodesRequest {
	readonly problems: readonly Problem[];
	/** One random stream per episode. */
	readonly seeds: readonly string[];
	readonly temperature: number;
	readonly maxCompletionLength: number;
	/** Samples the policy's turns. */
	sample(request: SampleRequest): Promise<Sample[]>;
	readonly signal?: AbortSignal;
	/** Maximum fraction of failed episodes. If more fail, playing ends with {@link TooManyFailed}. Default 1. */
	readonly tolerated?: number;
}

/** Thrown when so many episodes of a batch have failed that the batch cannot be used. */
export class TooManyFailed extends Error {
	readonly failed: number;
	/** Batch index of a failed episode, and why the episode failed. */
	readonly first: { readonly index: number; readonly error: EpisodeError };

	constructor(failed: number, first: TooManyFailed['first']) {
		super(first.error.message);
		this.failed = failed;
		this.first = first;
	}
}

/**
 * Plays episodes with the policy. All episodes of a batch take their turns together: one sampling request for the
 * episodes that continue, then their tool calls. Every turn has its own random stream, so an episode does not depend on
 * others.
 */
export class EpisodePlayer {
	readonly environment: OpenedEnvironment;
	readonly text: EpisodeText;
	readonly #limits: Omit<EpisodeLimits, 'completionTokens'>;
	readonly #seed: number;
	readonly #states: boolean;
	/** Serializes batches: they share the environment's instances. */
	readonly #batches = new Sequencer();

	/** @param states whether to record the state after each turn */
	constructor(
		environment: OpenedEnvironment,
		text: EpisodeText,
		limits: Omit<EpisodeLimits, 'completionTokens'>,
		{ seed, states }: { readonly seed: number; readonly states: boolean },
	) {
		this.environment = environment;
		this.text = text;
		this.#limits = limits;
		this.#seed = seed;
		this.#states = states;
	}

	/** Starts a new process for the next batch, so that fixes outside the environment file take effect. */
	async reload(): Promise<void> {
		await this.environment.runner.restart(this.#seed);
	}

	/** @throws TooManyFailed, and `cancelled` when the signal aborts */
	play(request: EpisodesRequest): Promise<PlayedEpisode[]> {
		return this.#batches.queue(() => this.#play(request));
	}

	async #play(request: EpisodesRequest): Promise<PlayedEpisode[]> {
		const { runner, columns, description } = this.environment;
		const limits = { ...this.#limits, completionTokens: request.maxCompletionLength };
		const sessions = request.problems.map((problem, instance) =>
			runner.start(columns(problem), { instance, state: this.#states }),
		);
		const episodes = sessions.map(
			(session, i) => new LiveEpisode(session, request.problems[i] as Problem, this.text, limits),
		);
		const each = async (list: readonly LiveEpisode[], task: (episode: LiveEpisode) => Promise<void>) => {
			for (const episode of list) {
				if (request.signal?.aborted) throw new Failure('cancelled', 'Canceled.');
				await task(episode);
				if (episode.failed !== null) checkFailures(episodes, request.tolerated ?? 1);
			}
		};
		try {
			await each(episodes, (episode) => episode.reset());
			for (let turn = 0; ; turn++) {
				const active = episodes.filter((episode) => episode.active);
				if (active.length === 0) break;
				const samples = await request.sample({
					prompts: active.map(({ tokens }) => tokens),
					seeds: active.map((episode) => `${request.seeds[episodes.indexOf(episode)]}/${turn}`),
					maxNewTokens: active.map(({ room }) => room),
					temperature: request.temperature,
				});
				const turns = new Map(active.map((episode, i) => [episode, samples[i] as (typeof samples)[number]]));
				await each(active, (episode) => episode.act(turns.get(episode) as (typeof samples)[number]));
			}
			const played = new Map<LiveEpisode, PlayedEpisode>();
			await each(episodes, async (episode) => {
				played.set(episode, await episode.finish(description.ownsReward));
			});
			return episodes.map((episode) => played.get(episode) as PlayedEpisode);
		} finally {
			// Ending a session twice is harmless.
			for (const session of sessions) await session.end();
		}
	}
}

function checkFailures(episodes: readonly LiveEpisode[], tolerated: number): void {
	const failed = episodes.flatMap(({ failed: error }, index) => (error === null ? [] : [{ index, error }]));
	const [first] = failed;
	if (first !== undefined && failed.length > tolerated * episodes.length) throw new TooManyFailed(failed.length, first);
}
