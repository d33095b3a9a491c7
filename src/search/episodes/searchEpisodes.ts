import { Disposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import type { Policy } from '../../core/search/policy.ts';
import { episodeStrategies } from '../../core/search/strategies.ts';
import type { TraceTags } from '../../core/trace/trace.ts';
import type { OpenPolicy } from '../../policies/openedPolicy.ts';
import type { EnvironmentDescription } from '../../protocol/environmentHost.ts';
import type { ScorerSpec, SearchSpec } from '../../protocol/searchSpec.ts';
import type { SearchProblem } from '../../protocol/treeLog.ts';
import type { OpenScorer } from '../scorers/scorerContext.ts';
import type { SearchContext } from '../searchContext.ts';
import { openEnvironmentScorer } from './environmentScorer.ts';
import { episodePolicy } from './episodePolicy.ts';
import { OpenEpisodes } from './openEpisodes.ts';
import { textWriter } from './textWriter.ts';
import { toolWriter } from './toolWriter.ts';
import type { TurnWriter } from './turnWriter.ts';

/** Scorers that require text generated in one piece, which episodes do not have. */
const textScorers: readonly ScorerSpec['use'][] = ['value', 'process', 'reward-model', 'process-reward'];

/** A search's environment, and how its policy writes turns. The owner must dispose of it. */
export class SearchEpisodes extends Disposable {
	readonly #episodes: OpenEpisodes;
	readonly #policy: OpenPolicy;

	private constructor(episodes: OpenEpisodes, policy: OpenPolicy) {
		super();
		this.#episodes = episodes;
		this.#policy = policy;
	}

	/**
	 * Returns null if the specification has no environment. Fails with `unsupported` if the policy or the strategy cannot
	 * play episodes, with `invalid` if a scorer cannot score them, and with the same errors as `OpenEpisodes.open`.
	 * @param shared the specification's environment, if the caller has opened it. The caller disposes of it
	 */
	static async open(
		{ environment, guide, judge, split, strategy, seed }: SearchSpec,
		policy: OpenPolicy,
		context: Pick<SearchContext, 'environment' | 'python'>,
		shared: OpenEpisodes | null = null,
	): Promise<SearchEpisodes | null> {
		if (environment === undefined) {
			if (split !== 'turns' && guide?.use !== 'environment' && judge?.use !== 'environment') return null;
			throw new Failure('invalid', 'The search does not specify an environment.', 'Set one with "environment".');
		}
		if (!policy.episodes && policy.callTools === undefined) {
			throw new Failure(
				'unsupported',
				`${policy.name} was not trained on episodes as text, and it cannot call tools.`,
				'Choose an embedded-engine checkpoint that was trained with an environment, or a chat server.',
			);
		}
		if (!episodeStrategies.includes(strategy)) {
			throw new Failure(
				'unsupported',
				`The strategy ${strategy} cannot search over episodes.`,
				`Use ${episodeStrategies.join(', ')}.`,
			);
		}
		const wrong = [guide, judge].find((scorer) => scorer !== null && textScorers.includes(scorer.use));
		if (wrong) {
			throw new Failure('invalid', `The scorer ${wrong.use} cannot score episodes.`, 'Use the scorer "environment".');
		}
		if (shared !== null) return new SearchEpisodes(shared, policy);
		const episodes = await OpenEpisodes.open(environment, { ...context, seed });
		const own = new SearchEpisodes(episodes, policy);
		own.register(episodes);
		return own;
	}

	get description(): EnvironmentDescription {
		return this.#episodes.description;
	}

	get scorer(): OpenScorer {
		return openEnvironmentScorer(this.#episodes, (text) => this.#plain(text));
	}

	/** Tags in an episode's text. An answer tag in a tool result does not end the episode. */
	get tags(): TraceTags {
		return { think: this.#policy.tags?.think ?? null, answer: null };
	}

	/** Returns the problem with the text from `reset`; see `OpenEpisodes.pose`. */
	async pose(problem: SearchProblem): Promise<SearchProblem> {
		return await this.#episodes.pose(problem, (text) => this.#plain(text));
	}

	/** Returns a policy that plays episodes for a problem. */
	bind(policy: Policy, problem: SearchProblem, signal: AbortSignal): Policy {
		return episodePolicy({ policy, writer: this.#writer(policy, signal), episodes: this.#episodes, problem });
	}

	#writer(policy: Policy, signal: AbortSignal): TurnWriter {
		const { episodes, callTools } = this.#policy;
		const { tools } = this.#episodes;
		if (episodes) return textWriter(policy, episodes, tools);
		if (callTools !== undefined) return toolWriter(callTools, tools, signal);
		throw new Failure('internal', 'The policy cannot play episodes.');
	}

	#plain(text: string): string {
		return this.#policy.episodes?.plain(text) ?? text;
	}
}
