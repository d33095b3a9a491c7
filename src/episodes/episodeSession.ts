import * as v from 'valibot';
import { Failure } from '../base/failure.ts';
import type { Schema } from '../protocol/decode.ts';
import {
	type CallReply,
	callReplySchema,
	environmentHostMethods,
	type PlayReply,
	playReplySchema,
	type ResetReply,
	type RewardReply,
	resetReplySchema,
	rewardReplySchema,
} from '../protocol/environmentHost.ts';
import type { EpisodeError, EpisodeTurn, ToolCall } from '../protocol/episode.ts';
import { HostEnd, type HostProcess } from '../rewards/hostProcess.ts';

/** Runner interface used by episodes. */
export interface EpisodeHost {
	/** Absolute path of the environment file. */
	readonly file: string;
	readonly limits: { readonly turnMs: number };
	/** Runs a task while no other request is active. */
	queue<T>(task: () => Promise<T>): Promise<T>;
	/** Returns the current process, or loads the file in a new one. For use within {@link queue}. */
	loaded(): Promise<{ readonly process: HostProcess }>;
	/** Makes an instance available to other episodes. */
	released(instance: number): void;
}

export interface SessionOptions {
	/** Number of the instance that runs the episode. Default: the lowest free one, so instances are reused as in TRL. */
	readonly instance: number;
	/** Whether to record a summary of the state after reset and after each turn. */
	readonly state: boolean;
	/** Seed for the process's global random number generator at each reset. Default: not reseeded, as in training. */
	readonly seed?: number;
}

/** Thrown when an episode cannot continue. The session must then be ended. */
export class EpisodeFault extends Error {
	readonly error: EpisodeError;

	constructor(error: EpisodeError) {
		super(error.message);
		this.error = error;
	}
}

export interface ResetResult {
	readonly observation: string | null;
	readonly done: boolean | null;
	readonly durationMs: number;
	readonly state?: Readonly<Record<string, unknown>>;
}

export interface PlayedEpisode {
	readonly reset: ResetResult;
	readonly turns: readonly EpisodeTurn[];
	readonly reward: number | null;
	/** Why the episode ended early. */
	readonly error?: EpisodeError;
}

const maxLogLines = 200;
type Reply = ResetReply | CallReply | RewardReply;

/**
 * One episode in progress. If its process was replaced because another episode terminated it, the episode continues in
 * the new process: its calls are repeated and must return the same observations.
 */
export class EpisodeSession {
	/** Output printed during the episode, up to a limit. */
	readonly logs: string[] = [];
	readonly #runner: EpisodeHost;
	readonly #row: Readonly<Record<string, unknown>>;
	readonly #options: SessionOptions;
	#process: HostProcess | null = null;
	#observation: string | null = null;
	readonly #past: { readonly calls: readonly ToolCall[]; readonly contents: readonly string[] }[] = [];

	constructor(runner: EpisodeHost, row: Readonly<Record<string, unknown>>, options: SessionOptions) {
		this.#runner = runner;
		this.#row = row;
		this.#options = options;
	}

	/** Starts the episode. @throws EpisodeFault */
	reset(): Promise<ResetResult> {
		return this.#runner.queue(async () => {
			const { process } = await this.#loaded('reset');
			const reply = await this.#reset(process);
			this.#process = process;
			this.#observation = reply.observation;
			return reply;
		});
	}

	/**
	 * Plays a whole episode in a single request, which is several times faster but requires knowing all calls in advance.
	 * Returns null if the episode terminated its process. In that case, play it turn by turn to find out why.
	 */
	play(script: readonly (readonly ToolCall[])[], ownsReward: boolean): Promise<PlayedEpisode | null> {
		return this.#runner.queue(async () => {
			const { process } = await this.#loaded('reset');
			const { instance, state } = this.#options;
			const { file, limits } = this.#runner;
			const calls = script.map(sentCalls);
			try {
				const reply = await process.request(
					environmentHostMethods.play,
					{ instance, state, row: this.#row, calls, ownsReward },
					playReplySchema as unknown as Schema<PlayReply>,
					{ timeoutMs: limits.turnMs, file },
				);
				return this.#played(process, script, reply);
			} catch (error) {
				if (Failure.from(error).reason === 'cancelled') throw error;
				if (!(error instanceof HostEnd)) await process.kill(new HostEnd('exited', Failure.from(error).message));
				process.log.take();
				return null;
			}
		});
	}

	/** Calls the tools of one turn. Failed calls are part of the result. @throws EpisodeFault */
	call(calls: readonly ToolCall[]): Promise<EpisodeTurn> {
		return this.#runner.queue(async () => {
			const turn = await this.#call(await this.#current('call'), calls);
			this.#past.push({ calls, contents: turn.results.map(({ content }) => content) });
			return turn;
		});
	}

	/**
	 * Returns the reward of the episode so far, or null if it does not apply. @throws EpisodeFault
	 * @param messages the completion; some environments score its text
	 */
	reward(messages?: readonly object[]): Promise<number | null> {
		return this.#runner.queue(async () => {
			const process = await this.#current('reward');
			const params = messages === undefined ? {} : { messages };
			const reply = await this.#ask(process, 'reward', params, rewardReplySchema as unknown as Schema<RewardReply>);
			return reply.value ?? null;
		});
	}

	/**
	 * Releases the instance. The next episode reuses it, as trainers do, unless `discard` is set.
	 */
	async end({ discard = false }: { readonly discard?: boolean } = {}): Promise<void> {
		this.#runner.released(this.#options.instance);
		if (!discard) return;
		await this.#runner.queue(async () => {
			if (!this.#process?.alive) return;
			const { turnMs } = this.#runner.limits;
			const { instance } = this.#options;
			await this.#process
				.request(environmentHostMethods.end, { instance }, rawReply, { timeoutMs: turnMs, file: this.#runner.file })
				.catch(() => undefined);
		});
	}

	#played(process: HostProcess, script: readonly (readonly ToolCall[])[], reply: PlayReply): PlayedEpisode {
		const { reset, turns, reward } = reply;
		this.#log(
			process,
			[reset, ...turns, ...(reward === null ? [] : [reward])].flatMap(({ logs }) => logs ?? []),
		);
		const last = reward ?? turns.at(-1) ?? reset;
		if (last.error?.kind === 'memory') void process.kill(new HostEnd('memory', last.error.message));
		this.#process = process;
		this.#observation = reset.observation ?? null;
		for (const [i, { results = [] }] of turns.entries()) {
			this.#past.push({ calls: script[i] as readonly ToolCall[], contents: results.map(({ content }) => content) });
		}
		const during = reward !== null ? 'reward' : turns.length > 0 ? 'call' : 'reset';
		return {
			reset: resetResult(reset),
			turns: turns.map((turn, i) => turnOf(script[i] as readonly ToolCall[], turn)),
			reward: reward?.value ?? null,
			...(last.error === undefined ? {} : { error: { during, ...last.error } }),
		};
	}

	async #loaded(during: EpisodeError['during']): ReturnType<EpisodeHost['loaded']> {
		try {
			return await this.#runner.loaded();
		} catch (error) {
			const { reason, message } = Failure.from(error);
			if (reason === 'cancelled') throw error;
			throw new EpisodeFault({ during, kind: 'load', message });
		}
	}

	/** Returns the process that holds the episode's state, restoring the state first if the process is new. */
	async #current(during: EpisodeError['during']): Promise<HostProcess> {
		const { process } = await this.#loaded(during);
		if (process === this.#process) return process;
		if (this.#process === null) throw new Failure('internal', 'The episode has not been reset.');
		const same = (await this.#reset(process)).observation === this.#observation && (await this.#repeat(process));
		if (!same) {
			const message = 'Its process was replaced, and the same calls now return different observations';
			throw new EpisodeFault({ during, kind: 'changed', message });
		}
		this.#process = process;
		return process;
	}

	/** Repeats all calls so far. Returns whether the observations are the same. */
	async #repeat(process: HostProcess): Promise<boolean> {
		for (const { calls, contents } of this.#past) {
			const { results } = await this.#call(process, calls);
			if (results.some(({ content }, i) => content !== contents[i])) return false;
		}
		return true;
	}

	async #reset(process: HostProcess): Promise<ResetResult> {
		const schema = resetReplySchema as unknown as Schema<ResetReply>;
		const { seed } = this.#options;
		const params = { row: this.#row, ...(seed === undefined ? {} : { seed }) };
		return resetResult(await this.#ask(process, 'reset', params, schema));
	}

	async #call(process: HostProcess, calls: readonly ToolCall[]): Promise<EpisodeTurn> {
		const schema = callReplySchema as unknown as Schema<CallReply>;
		return turnOf(calls, await this.#ask(process, 'call', { calls: sentCalls(calls) }, schema));
	}

	async #ask<T extends Reply>(
		process: HostProcess,
		during: EpisodeError['during'],
		params: object,
		schema: Schema<T>,
	): Promise<T> {
		const { instance, state } = this.#options;
		try {
			const reply = await process.request(environmentHostMethods[during], { instance, state, ...params }, schema, {
				timeoutMs: this.#runner.limits.turnMs,
				file: this.#runner.file,
			});
			this.#log(process, reply.logs ?? []);
			if (reply.error === undefined) return reply;
			// Memory that failed user code has allocated may never be released.
			if (reply.error.kind === 'memory') void process.kill(new HostEnd('memory', reply.error.message));
			throw new EpisodeFault({ during, ...reply.error });
		} catch (error) {
			if (error instanceof EpisodeFault) throw error;
			this.#log(process, []);
			if (error instanceof HostEnd) {
				throw new EpisodeFault({ during, kind: error.kind, message: error.message, ...error.place });
			}
			const { reason, message } = Failure.from(error);
			if (reason === 'cancelled') throw error;
			// A reply that cannot be decoded: user code has written to the channel.
			await process.kill(new HostEnd('exited', message));
			throw new EpisodeFault({ during, kind: 'exited', message });
		}
	}

	#log(process: HostProcess, lines: readonly string[]): void {
		const all = [...process.log.take(), ...lines];
		const room = maxLogLines - this.logs.length;
		if (room > 0) this.logs.push(...all.slice(0, room));
	}
}

/** The reply to `end` has no fields. */
const rawReply: Schema<unknown> = v.unknown();

/** JSON has no undefined. */
function sentCalls(calls: readonly ToolCall[]): ToolCall[] {
	return calls.map(({ name, arguments: given }) => ({ name, arguments: given ?? null }));
}

function resetResult({ observation, done, durationMs, state }: ResetReply): ResetResult {
	return { observation: observation ?? null, done, durationMs, ...(state === undefined ? {} : { state }) };
}

function turnOf(calls: readonly ToolCall[], { results = [], done, reward, durationMs, state }: CallReply): EpisodeTurn {
	return {
		calls: [...calls],
		results: results.map(({ stack: _, ...result }) => result),
		done,
		...(reward === undefined ? {} : { reward }),
		durationMs,
		...(state === undefined ? {} : { state }),
	};
}
