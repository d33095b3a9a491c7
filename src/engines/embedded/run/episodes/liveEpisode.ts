import type { Problem } from '../../../../core/dataset/problem.ts';
import { shortState } from '../../../../core/episode/shortState.ts';
import { parseToolCalls, textWithoutCalls } from '../../../../core/episode/toolCallText.ts';
import { EpisodeFault, type EpisodeSession, type ResetResult } from '../../../../episodes/episodeSession.ts';
import type { EpisodeError, EpisodeTurn, ToolCall } from '../../../../protocol/episode.ts';
import type { RolloutEpisode } from '../../../../protocol/rolloutEpisode.ts';
import type { Message } from '../../../../protocol/rolloutLine.ts';
import type { Sample } from '../../learner.ts';
import type { PosedProblem } from '../problemFeed.ts';
import { Conversation } from './conversation.ts';
import type { EpisodeText } from './episodeText.ts';

/** Limits of an episode. */
export interface EpisodeLimits {
	/** Maximum number of turns with tool calls; null for no limit. */
	readonly maxTurns: number | null;
	/** Maximum number of tokens after the prompt, including those from the environment, as in TRL. */
	readonly completionTokens: number;
	/** Context of the model in tokens. */
	readonly context: number;
}

/** A finished episode. */
export interface PlayedEpisode {
	readonly posed: PosedProblem;
	readonly sample: Sample;
	/** Text of the conversation after the prompt. */
	readonly completion: string;
	/** The same text as messages of the policy and the tools, in TRL's format; results that did not fit are omitted. */
	readonly messages: readonly Message[];
	/** null if the episode failed or its environment does not provide a reward. */
	readonly reward: number | null;
	readonly episode: RolloutEpisode;
	/** Output printed by the environment. */
	readonly logs: readonly string[];
}

/** Maximum number of characters in a tool result in a rollout. */
const maxRecorded = 4000;

/**
 * An episode that a policy plays by writing text. If the environment fails, the episode ends; methods reject only with
 * `cancelled`.
 */
export class LiveEpisode {
	readonly #session: EpisodeSession;
	readonly #text: EpisodeText;
	readonly #limits: EpisodeLimits;
	readonly #turns: EpisodeTurn[] = [];
	#posed: PosedProblem;
	#conversation: Conversation;
	#stop: NonNullable<RolloutEpisode['stop']> | null = null;
	#error: EpisodeError | null = null;
	#observation: string | null = null;
	#state: ResetResult['state'];
	#seconds = 0;
	readonly #messages: Message[] = [];

	constructor(session: EpisodeSession, problem: Problem, text: EpisodeText, limits: EpisodeLimits) {
		this.#session = session;
		this.#text = text;
		this.#limits = limits;
		this.#posed = text.pose(problem, null);
		this.#conversation = new Conversation(this.#posed.promptTokens);
	}

	/** Whether it is the policy's turn. */
	get active(): boolean {
		return this.#stop === null;
	}

	get failed(): EpisodeError | null {
		return this.#error;
	}

	/** Everything that the policy has read and written so far. */
	get tokens(): readonly number[] {
		return this.#conversation.tokens;
	}

	/** Maximum number of tokens in the next turn. */
	get room(): number {
		return Math.min(
			this.#limits.completionTokens - this.#conversation.length,
			this.#limits.context - this.#conversation.tokens.length,
		);
	}

	async reset(): Promise<void> {
		await this.#attempt(async () => {
			const { observation, state } = await this.#session.reset();
			this.#observation = observation;
			this.#state = state;
			this.#posed = this.#text.pose(this.#posed.problem, observation);
			this.#conversation = new Conversation(this.#posed.promptTokens);
			if (this.room > 0) return;
			const message = `The prompt has ${this.#posed.promptTokens.length} tokens, which leaves no room in the context of ${this.#limits.context} tokens`;
			throw new EpisodeFault({ during: 'reset', kind: 'size', message });
		});
	}

	/** Appends a policy turn and, if it contains tool calls, their results. */
	async act(sample: Sample): Promise<void> {
		const turn = this.#conversation.addSampled(sample);
		const written = this.#text.decode(turn);
		const calls = parseToolCalls(written, this.#text.callTags, this.#text.tools);
		this.#messages.push(policyMessage(textWithoutCalls(written, this.#text.callTags), calls));
		if (sample.truncated) this.#stop = 'length';
		else if (calls.length === 0) this.#stop = 'policy';
		else if (this.#turns.length >= (this.#limits.maxTurns ?? Number.POSITIVE_INFINITY)) this.#stop = 'turns';
		if (this.#stop !== null) return;
		await this.#attempt(async () => {
			this.#turns.push({ calls, results: [], done: null, durationMs: 0 });
			const played = await this.#session.call(calls);
			this.#turns[this.#turns.length - 1] = played;
			const answer = this.#text.answer(played.results);
			const fits = answer.length <= this.room;
			if (fits) {
				this.#conversation.addAnswer(answer);
				for (const { name, content } of played.results) this.#messages.push({ role: 'tool', name, content });
			}
			if (played.done === true) this.#stop = 'done';
			else if (!fits || this.room === 0) this.#stop = 'length';
		});
	}

	/**
	 * Ends the episode and returns it with its reward.
	 * @param ownsReward whether the environment has get_reward
	 */
	async finish(ownsReward: boolean): Promise<PlayedEpisode> {
		let reward: number | null = null;
		if (this.#error === null && ownsReward) {
			await this.#attempt(async () => {
				reward = await this.#session.reward(this.#messages);
			});
		}
		await this.#session.end();
		const sample = this.#conversation.sample(this.#stop === 'length');
		const results = this.#turns.flatMap((turn) => turn.results);
		return {
			posed: this.#posed,
			sample,
			completion: this.#text.decode(sample.tokens.slice(sample.promptLength)),
			messages: this.#messages,
			reward,
			logs: this.#session.logs,
			episode: {
				calls: this.#turns.reduce((sum, { calls }) => sum + calls.length, 0),
				failures: results.filter(({ failed }) => failed).length,
				stop: this.#stop ?? 'policy',
				...(this.#error === null ? {} : { error: this.#error }),
				seconds: rounded(this.#seconds),
				observation: this.#observation === null ? null : recorded(this.#observation),
				...recordedState(this.#state),
				turns: this.#turns.map((turn) => ({
					calls: turn.calls,
					results: turn.results.map(({ name, content, failed }) => ({ name, content: recorded(content), failed })),
					...(turn.reward === undefined ? {} : { reward: turn.reward }),
					seconds: rounded(turn.durationMs / 1000),
					...recordedState(turn.state),
				})),
			},
		};
	}

	async #attempt(task: () => Promise<void>): Promise<void> {
		const start = performance.now();
		try {
			await task();
		} catch (error) {
			if (!(error instanceof EpisodeFault)) throw error;
			this.#error = error.error;
			this.#stop = 'failed';
		} finally {
			this.#seconds += (performance.now() - start) / 1000;
		}
	}
}

/** Returns a policy turn as a message with its calls, as in TRL's conversations. */
function policyMessage(content: string, calls: readonly ToolCall[]): Message {
	const made = calls.map((call) => ({ type: 'function', function: { name: call.name, arguments: call.arguments } }));
	return { role: 'assistant', content, ...(made.length === 0 ? {} : { tool_calls: made }) };
}

const recorded = (text: string): string => (text.length <= maxRecorded ? text : `${text.slice(0, maxRecorded)}...`);
const recordedState = (state: ResetResult['state']) => (state === undefined ? {} : { state: shortState(state) });
const rounded = (seconds: number): number => Math.round(seconds * 1e6) / 1e6;
