import { Sequencer } from '../../base/async.ts';
import { Disposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import { promptText } from '../../core/episode/promptText.ts';
import { isServerAddress } from '../../core/episode/serverAddress.ts';
import type { SearchTurn } from '../../core/search/policy.ts';
import { EnvironmentRunner } from '../../episodes/environmentRunner.ts';
import { environmentSource, sentSource } from '../../episodes/environmentSource.ts';
import type { EnvironmentDescription, EnvironmentRows, ToolSchema } from '../../protocol/environmentHost.ts';
import type { SearchEnvironment } from '../../protocol/searchSpec.ts';
import type { SearchProblem } from '../../protocol/treeLog.ts';
import { rewardHostFolder } from '../../rewards/rewardHostFolder.ts';
import { RewardHosts } from '../../rewards/rewardHosts.ts';
import { findRewardPrograms } from '../../rewards/rewardPrograms.ts';
import { ReplayedEpisode } from './replayedEpisode.ts';

export interface EpisodesContext {
	/** Environment variables for the host process. */
	readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
	/** Python interpreter. Default: the source's, or the one set in the environment variables. */
	readonly python?: string | undefined;
	/** Memory limit of the host process, in MB. Default: that of {@link EnvironmentRunner}. */
	readonly memoryMb?: number | undefined;
	/** Seed for the host's random number generator at each reset. */
	readonly seed: number;
}

/** A search's environment, in a separate process. */
export class OpenEpisodes extends Disposable {
	readonly description: EnvironmentDescription;
	readonly tools: readonly ToolSchema[];
	/** Maximum number of turns with calls. */
	readonly maxTurns: number;
	readonly #runner: EnvironmentRunner;
	readonly #seed: number;
	/** Serializes access to an environment that can run only one episode at a time; null for others. */
	readonly #turns: Sequencer | null;

	private constructor(
		runner: EnvironmentRunner,
		description: EnvironmentDescription,
		{ maxTurns, seed }: { readonly maxTurns: number; readonly seed: number },
	) {
		super();
		this.#runner = runner;
		this.description = description;
		this.maxTurns = maxTurns;
		this.#seed = seed;
		this.#turns = description.concurrent === false ? new Sequencer() : null;
		this.tools = description.tools.map(({ schema, fault }) => {
			if (schema !== null) return schema;
			const why = fault?.message ?? 'A tool has no schema';
			throw new Failure('invalid', `${why}.`, 'Fix the environment file, then verify it.');
		});
	}

	/**
	 * Loads an environment, whose process is stopped on disposal. Fails with the same errors as `environmentSource` and
	 * `EnvironmentRunner.describe`, or with `invalid` if a tool cannot be described.
	 */
	static async open(
		spec: SearchEnvironment,
		{ environment, python: given, memoryMb, seed }: EpisodesContext,
	): Promise<OpenEpisodes> {
		const source = await sourceOf(spec);
		const variables = { ...(environment ?? process.env) } as NodeJS.ProcessEnv;
		const needsPython = source.kind !== 'file' || source.file.endsWith('.py');
		const python = given ?? source.python ?? variables.REASONING_LAB_PYTHON ?? null;
		const programs = needsPython
			? await findRewardPrograms({ python })
			: { node: process.execPath, nodeEnvironment: {}, python: 'python3' };
		const hosts = new RewardHosts(programs, { folder: rewardHostFolder(), environment: variables });
		const limits = { turnMs: spec.turnSeconds * 1000, ...(memoryMb === undefined ? {} : { memoryMb }) };
		const runner = new EnvironmentRunner(hosts, source.file, { seed, limits, source: sentSource(source) });
		try {
			const { maxTurns } = spec;
			const opened = await OpenEpisodes.in(runner, { maxTurns, seed });
			opened.register(runner);
			opened.register(hosts);
			return opened;
		} catch (error) {
			runner.dispose();
			hosts.dispose();
			throw error;
		}
	}

	/**
	 * Uses a runner's process, Python and limits. The caller disposes of the runner. Fails with the same errors as
	 * `EnvironmentRunner.describe`, or with `invalid` if a tool cannot be described.
	 * @param seed seed for the host's random number generator at each reset
	 */
	static async in(
		runner: EnvironmentRunner,
		limits: { readonly maxTurns: number; readonly seed: number },
	): Promise<OpenEpisodes> {
		return new OpenEpisodes(runner, await runner.describe(), limits);
	}

	/**
	 * Returns the problem for the dataset row `problem.row`: its prompt, followed by the text that `reset` returns. There
	 * is no gold answer, because the environment provides the reward.
	 * @param plain removes tags from the environment's text
	 */
	async pose(problem: SearchProblem, plain: (text: string) => string): Promise<SearchProblem> {
		const episode = this.replay({ ...problem, prompt: '' }, [], plain);
		try {
			const observation = await episode.observe();
			const { row } = problem;
			const prompt = promptText(row, observation === null ? null : plain(observation));
			return { prompt: prompt === '' ? problem.prompt : prompt, answer: null, row };
		} finally {
			await episode.end();
		}
	}

	/** Returns the first rows that the environment itself provides; see `EnvironmentRunner.rows`. */
	rows(count: number): Promise<EnvironmentRows['rows']> {
		return this.#runner.rows(count);
	}

	/** Returns an episode that has played the given turns. Nothing runs until its first use. */
	replay(problem: SearchProblem, turns: readonly SearchTurn[], plain: (text: string) => string): ReplayedEpisode {
		return new ReplayedEpisode({
			runner: this.#runner,
			problem,
			turns,
			seed: this.#seed,
			plain,
			ownsReward: this.description.ownsReward,
			one: this.#turns,
		});
	}
}

async function sourceOf({ file, package: named, server, arguments: given }: SearchEnvironment) {
	const options = { arguments: given };
	const written = file ?? named ?? server;
	if (written === undefined)
		throw new Failure('invalid', 'The environment does not specify a file, package or server.');
	const source = await environmentSource(written, options);
	const fits =
		file !== undefined
			? source.kind === 'file'
			: server !== undefined
				? isServerAddress(source.file)
				: source.kind !== 'file' && !isServerAddress(source.file);
	if (fits) return source;
	throw new Failure('invalid', `${written} is not a ${file !== undefined ? 'file' : server ? 'server' : 'package'}.`);
}
