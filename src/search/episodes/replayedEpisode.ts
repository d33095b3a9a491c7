import type { Sequencer } from '../../base/async.ts';
import { promptText } from '../../core/episode/promptText.ts';
import type { SearchTurn, TurnCall } from '../../core/search/policy.ts';
import { SearchStop } from '../../core/search/searchStop.ts';
import type { EnvironmentRunner } from '../../episodes/environmentRunner.ts';
import { EpisodeFault, type EpisodeSession } from '../../episodes/episodeSession.ts';
import type { EpisodeTurn, ToolCall } from '../../protocol/episode.ts';
import type { SearchProblem } from '../../protocol/treeLog.ts';

/** Maximum number of characters of a result shown to the policy and recorded in the log. */
const maxResult = 20_000;

/** Returns a result as the policy sees it. */
export const recorded = (content: string): string =>
	content.length <= maxResult ? content : `${content.slice(0, maxResult)}...`;

export interface ReplayOptions {
	readonly runner: EnvironmentRunner;
	readonly problem: SearchProblem;
	/** Turns to repeat before the first new one. */
	readonly turns: readonly SearchTurn[];
	readonly seed: number;
	readonly plain: (text: string) => string;
	readonly ownsReward: boolean;
	/** Serializes access to an environment that can run only one episode at a time; null for others. */
	readonly one: Sequencer | null;
}

/** The environment's response in a turn. */
export interface ActedTurn {
	readonly calls: readonly TurnCall[];
	readonly done: boolean;
	/** Why the episode failed; null if it did not. */
	readonly fault: string | null;
}

/**
 * An episode at a node of a search tree. The environment cannot be copied, so the calls on the path to the node are
 * repeated in an instance. They must return the same results; otherwise, the tree's nodes are not states, and the
 * search ends with the reason `environment`.
 */
export class ReplayedEpisode {
	readonly #options: ReplayOptions;
	readonly #turns: SearchTurn[];
	#session: EpisodeSession | null = null;

	constructor(options: ReplayOptions) {
		this.#options = options;
		this.#turns = [...options.turns];
	}

	/** Returns the text that `reset` adds to the prompt. Throws SearchStop if `reset` fails. */
	async observe(): Promise<string | null> {
		return await this.#exclusively(async () => {
			const session = this.#start();
			try {
				return (await session.reset()).observation;
			} catch (error) {
				throw stopOf(error);
			}
		});
	}

	/** Makes the next turn's calls. Throws SearchStop if the environment is no longer available or not deterministic. */
	async act(text: string, calls: readonly ToolCall[]): Promise<ActedTurn> {
		return await this.#exclusively(async () => {
			const session = await this.#replayed();
			try {
				const { results, done, durationMs } = await session.call(calls);
				const made = answered(calls, results, durationMs / 1000);
				this.#turns.push({ text, calls: made });
				return { calls: made, done: done === true, fault: null };
			} catch (error) {
				const fault = faultOf(error);
				const failed = calls.map((call) => ({ ...call, result: fault, failed: true }));
				return { calls: failed, done: true, fault };
			}
		});
	}

	/** Returns the reward after the turns so far; null if the environment has none, or if it failed (`fault`). */
	async reward(): Promise<{ readonly value: number | null; readonly fault: string | null }> {
		if (!this.#options.ownsReward) return { value: null, fault: null };
		return await this.#exclusively(async () => {
			const session = await this.#replayed();
			try {
				return { value: await session.reward(messagesOf(this.#turns)), fault: null };
			} catch (error) {
				return { value: null, fault: faultOf(error) };
			}
		});
	}

	/** Releases the instance. */
	async end(): Promise<void> {
		const session = this.#session;
		this.#session = null;
		await session?.end();
	}

	#start(): EpisodeSession {
		const { runner, problem, seed } = this.#options;
		this.#session = runner.start(problem.row, { seed });
		return this.#session;
	}

	/** Runs a task, and releases the instance afterward if no others can run at the same time. */
	async #exclusively<T>(task: () => Promise<T>): Promise<T> {
		const { one } = this.#options;
		if (one === null) return await task();
		return await one.queue(async () => {
			try {
				return await task();
			} finally {
				await this.end();
			}
		});
	}

	/** Returns a session that has repeated all turns so far. */
	async #replayed(): Promise<EpisodeSession> {
		if (this.#session !== null) return this.#session;
		const { problem, plain } = this.#options;
		const session = this.#start();
		try {
			const { observation } = await session.reset();
			const prompt = promptText(problem.row, observation === null ? null : plain(observation));
			if (prompt !== '' && prompt !== problem.prompt) throw changed('reset returned different text');
			for (const [i, { calls }] of this.#turns.entries()) {
				if (calls.length === 0) continue;
				const { results } = await session.call(calls);
				const other = results.findIndex(({ content }, k) => recorded(content) !== calls[k]?.result);
				if (other < 0 && results.length === calls.length) continue;
				const { name = 'a tool', result = '' } = calls[Math.max(0, other)] ?? {};
				const got = results[Math.max(0, other)]?.content ?? 'nothing';
				throw changed(`in turn ${i + 1}, ${name} returned ${short(got)} instead of ${short(result)}`);
			}
			return session;
		} catch (error) {
			throw stopOf(error);
		}
	}
}

/**
 * Pairs calls with their results. The recorded calls are in the order of the results, which is TRL's: asynchronous
 * tools come last.
 */
function answered(calls: readonly ToolCall[], results: EpisodeTurn['results'], seconds: number): TurnCall[] {
	const left = [...calls];
	return results.map(({ name, content, failed }, i) => {
		const place = left.findIndex((call) => call.name === name);
		const [call] = left.splice(Math.max(0, place), 1);
		const timed = i === 0 ? { seconds } : {};
		return { name, arguments: call?.arguments ?? null, result: recorded(content), failed, ...timed };
	});
}

const short = (text: string): string => JSON.stringify(text.length <= 80 ? text : `${text.slice(0, 80)}...`);

const changed = (how: string): SearchStop =>
	new SearchStop(
		'environment',
		`The environment is not deterministic: when the calls on a path were repeated, ${how}. Derive random values from the row's columns, or use best-of-n, which does not repeat calls.`,
	);

/** Returns why an episode failed. Throws if the environment itself is no longer available. */
function faultOf(error: unknown): string {
	if (!(error instanceof EpisodeFault)) throw error;
	const { kind, message } = error.error;
	if (kind === 'load' || kind === 'server' || kind === 'changed') throw stopOf(error);
	return `${kind}: ${message}`;
}

/** Returns the error that ends the search if a path cannot be repeated. */
function stopOf(error: unknown): unknown {
	if (!(error instanceof EpisodeFault)) return error;
	const { kind, message, during } = error.error;
	return new SearchStop('environment', `The environment failed in ${during} (${kind}): ${message}`);
}

/** Returns the conversation for environments that score its text. */
function messagesOf(turns: readonly SearchTurn[]): object[] {
	return turns.flatMap(({ text, calls }) => [
		{ role: 'assistant', content: text },
		...calls.map(({ name, result }) => ({ role: 'tool', name, content: result })),
	]);
}
