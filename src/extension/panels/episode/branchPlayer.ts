import { checkAborted } from '../../../base/async.ts';
import type { EnvironmentRunner } from '../../../episodes/environmentRunner.ts';
import { EpisodeFault, type EpisodeSession } from '../../../episodes/episodeSession.ts';
import type { EpisodeError, ToolCall } from '../../../protocol/episode.ts';
import type { EpisodeBranch } from '../../../protocol/episodeMessages.ts';
import { shownReset, shownTurn } from './shownEpisode.ts';

type Changed = (branch: EpisodeBranch) => void;

/**
 * Plays one episode in a new instance, turn by turn. Environment errors become part of the episode; other errors and
 * cancellation cause a rejection.
 */
export class BranchPlayer {
	readonly #runner: EnvironmentRunner;
	readonly #session: EpisodeSession;
	readonly #changed: Changed;
	#branch: EpisodeBranch;

	/** @param changed called with the episode after each step */
	constructor(runner: EnvironmentRunner, instance: number, branch: EpisodeBranch, changed: Changed) {
		const { columns, seed } = branch;
		this.#runner = runner;
		this.#session = runner.start(columns, { instance, state: true, seed });
		this.#branch = branch;
		this.#changed = changed;
	}

	get branch(): EpisodeBranch {
		return this.#branch;
	}

	/** Replaces the episode with an equivalent one. */
	adopt(branch: EpisodeBranch): void {
		this.#branch = branch;
	}

	get failed(): boolean {
		return this.#branch.error !== undefined;
	}

	async reset(signal: AbortSignal): Promise<void> {
		await this.#step(
			signal,
			async () => {
				const reset = await this.#session.reset();
				return { ...this.#branch, reset: shownReset(reset, this.#takeLogs()) };
			},
			() => {
				const { logs = [] } = this.#failedLogs();
				return logs.length === 0 ? {} : { note: `Output of reset: ${logs.slice(-20).join('\n')}`.slice(0, maxMessage) };
			},
		);
	}

	/** Replays turns, stopping at the first failure. */
	async repeat(turns: readonly { readonly calls: readonly ToolCall[] }[], signal: AbortSignal): Promise<void> {
		for (const { calls } of turns) {
			if (this.failed) return;
			await this.call(calls, signal);
		}
	}

	async call(calls: readonly ToolCall[], signal: AbortSignal): Promise<void> {
		const { turns } = this.#branch;
		const failed = shownTurn({ calls: [...calls], results: [], done: null, durationMs: 0 }, []);
		await this.#step(
			signal,
			async () => {
				const turn = await this.#session.call(calls);
				return { ...this.#branch, turns: [...turns, shownTurn(turn, this.#takeLogs())], reward: null };
			},
			() => ({ turns: [...turns, { ...failed, durationMs: null, ...this.#failedLogs() }], reward: null }),
		);
	}

	async reward(signal: AbortSignal): Promise<void> {
		await this.#step(signal, async () => {
			const value = await this.#session.reward();
			return { ...this.#branch, reward: { value } };
		});
	}

	/** Releases the instance. Does not wait for the process. */
	end(): void {
		this.#session.end({ discard: true }).catch(() => undefined);
	}

	async #step(
		signal: AbortSignal,
		work: () => Promise<EpisodeBranch>,
		failed: () => Partial<EpisodeBranch> = () => ({}),
	): Promise<void> {
		checkAborted(signal);
		try {
			this.#branch = await work();
		} catch (error) {
			// A canceled action ends the process, which is not the environment's fault.
			checkAborted(signal);
			if (!(error instanceof EpisodeFault)) throw error;
			this.#branch = { ...this.#branch, ...failed(), error: errorOf(error.error) };
		}
		this.#changed(this.#branch);
	}

	/** Returns and clears the output since the last step. */
	#takeLogs(): string[] {
		return [...this.#runner.takeLogs(), ...this.#session.logs.splice(0)];
	}

	#failedLogs(): { logs?: string[] } {
		const logs = this.#takeLogs();
		return logs.length === 0 ? {} : { logs };
	}
}

const maxMessage = 4000;

function errorOf(error: EpisodeError): EpisodeError {
	const { stack: _, ...rest } = error;
	return { ...rest, message: error.message.slice(0, maxMessage) };
}
