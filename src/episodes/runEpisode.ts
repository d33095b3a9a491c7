import { Failure } from '../base/failure.ts';
import type { EpisodePolicy } from '../core/episode/episodePolicies.ts';
import { promptText } from '../core/episode/promptText.ts';
import type { Episode, EpisodeError, EpisodeTurn, ToolCall } from '../protocol/episode.ts';
import { EpisodeFault, type EpisodeSession } from './episodeSession.ts';

export interface EpisodeRequest {
	readonly session: EpisodeSession;
	/** 0-based row number in the dataset, and the row's columns. */
	readonly row: number;
	readonly columns: Readonly<Record<string, unknown>>;
	readonly policy: string;
	readonly act: EpisodePolicy;
	/** All calls, if they do not depend on tool results. The episode is then played in one request. */
	readonly script?: readonly (readonly ToolCall[])[] | undefined;
	/** Maximum number of turns. */
	readonly maxTurns: number;
	/** Whether the environment has get_reward. */
	readonly ownsReward: boolean;
	/** Whether to end the episode when the environment reports done. TRL's trainer does not. */
	readonly stopWhenDone?: boolean;
	readonly signal?: AbortSignal | undefined;
}

/**
 * Plays one episode. Does not end the session. If the environment fails, returns an episode marked as failed; rejects
 * only with `cancelled`.
 */
export async function runEpisode(request: EpisodeRequest): Promise<Episode> {
	const { session, row, columns, policy, act, maxTurns, signal } = request;
	const start = performance.now();
	const played = request.script && (await session.play(request.script, request.ownsReward));
	if (played) {
		const { reset, turns, reward, error } = played;
		return {
			...{ row, policy, observation: reset.observation, turns: [...turns], reward },
			stop: error === undefined ? 'policy' : 'failed',
			...(reset.state === undefined ? {} : { state: { ...reset.state } }),
			...(error === undefined ? {} : { error }),
			durationMs: performance.now() - start,
			logs: [...session.logs],
		};
	}
	const turns: EpisodeTurn[] = [];
	const episode = {
		row,
		policy,
		observation: null as string | null,
		turns,
		reward: null as number | null,
		stop: 'policy' as Episode['stop'],
	};
	let extra: Pick<Episode, 'state' | 'error'> = {};
	try {
		const { observation, state } = await session.reset();
		episode.observation = observation;
		if (state !== undefined) extra = { state: { ...state } };
		const prompt = promptText(columns, observation);
		for (;;) {
			if (signal?.aborted) throw new Failure('cancelled', 'Canceled.');
			if (request.stopWhenDone && turns.at(-1)?.done === true) episode.stop = 'done';
			if (episode.stop === 'done') break;
			const calls = act({ prompt, turns });
			if (calls === null) break;
			if (turns.length >= maxTurns) {
				episode.stop = 'turns';
				break;
			}
			turns.push({ calls: [...calls], results: [], done: null, durationMs: 0 });
			turns[turns.length - 1] = await session.call(calls);
		}
		if (request.ownsReward) episode.reward = await session.reward();
	} catch (error) {
		if (!(error instanceof EpisodeFault)) throw error;
		const failed: EpisodeError = error.error;
		episode.stop = 'failed';
		extra = { ...extra, error: failed };
	}
	return { ...episode, ...extra, durationMs: performance.now() - start, logs: [...session.logs] };
}
