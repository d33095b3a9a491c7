import type { ResetResult } from '../../../episodes/episodeSession.ts';
import { sha256 } from '../../../files/sha256.ts';
import type { Episode, EpisodeTurn } from '../../../protocol/episode.ts';
import { type EpisodeBranch, maxShownText, maxTurns, type ShownTurn } from '../../../protocol/episodeMessages.ts';
import type { RolloutEpisode } from '../../../protocol/rolloutEpisode.ts';

/** An episode played outside the view, with its dataset row. */
export interface RecordedEpisode
	extends Pick<EpisodeBranch, 'row' | 'columns' | 'reset' | 'turns' | 'reward' | 'error'> {
	readonly label: string;
}

type Reset = NonNullable<EpisodeBranch['reset']>;

/** Maximum size of a state as JSON, in characters. */
const maxState = 200_000;

export function shownReset(reset: ResetResult, logs: readonly string[]): Reset {
	const { observation, done, durationMs, state } = reset;
	return { ...shownObservation(observation), done, durationMs, ...shownState(state), ...shownLogs(logs) };
}

export function shownTurn(
	{ calls, results, done, reward, durationMs, state }: EpisodeTurn,
	logs: readonly string[],
): ShownTurn {
	return {
		calls,
		results: results.map(({ content, message, line, ...result }) => ({
			...result,
			...shownText(content),
			...(message === undefined ? {} : { message }),
			...(line === undefined ? {} : { line }),
		})),
		done,
		...(reward === undefined ? {} : { reward }),
		durationMs,
		...shownState(state),
		...shownLogs(logs),
	};
}

/** Returns an episode from a verification. */
export function recordedEpisode(
	{ row, observation, turns, reward, error, state, policy }: Episode,
	columns: Readonly<Record<string, unknown>>,
	ownsReward: boolean,
): RecordedEpisode {
	const started = error?.during !== 'reset';
	return {
		label: `${policy}, row ${row + 1}`,
		row,
		columns,
		reset: started ? { ...shownObservation(observation), done: null, durationMs: null, ...shownState(state) } : null,
		turns: turns.slice(0, maxTurns).map((turn) => shownTurn(turn, [])),
		reward: error === undefined && ownsReward && turns.length <= maxTurns ? { value: reward } : null,
		...(error === undefined ? {} : { error }),
	};
}

/** Returns a rollout's episode. @param reward value of the reward `environment`; undefined if there is none */
export function rolloutRecording(
	{ observation, state, turns = [], error }: RolloutEpisode,
	label: string,
	row: { readonly number: number | null; readonly columns: Readonly<Record<string, unknown>> },
	reward: number | null | undefined,
): RecordedEpisode {
	return {
		label,
		row: row.number,
		columns: row.columns,
		reset: { ...shownObservation(observation ?? null), done: null, durationMs: null, ...shownState(state) },
		turns: turns.slice(0, maxTurns).map(({ calls, results, seconds, reward: ofTurn, state: after }) => ({
			calls,
			results: results.map(({ name, content, failed }) => ({ name, failed, ...shownText(content) })),
			done: null,
			durationMs: seconds === undefined ? null : seconds * 1000,
			...(ofTurn === undefined ? {} : { reward: ofTurn }),
			...shownState(after),
		})),
		reward: reward === undefined || error !== undefined || turns.length > maxTurns ? null : { value: reward },
		...(error === undefined ? {} : { error }),
	};
}

function shownObservation(observation: string | null): Pick<Reset, 'observation' | 'rest'> {
	if (observation === null) return { observation };
	const { content, ...rest } = shownText(observation);
	return { observation: content, ...rest };
}

/** Truncates text that is too long to show. A hash distinguishes it from other text that starts the same way. */
function shownText(text: string): { content: string; rest?: { length: number; hash: string } } {
	if (text.length <= maxShownText) return { content: text };
	return { content: text.slice(0, maxShownText), rest: { length: text.length, hash: sha256(text) } };
}

function shownState(state: Readonly<Record<string, unknown>> | undefined): Pick<Reset, 'state'> {
	if (state === undefined) return {};
	return { state: JSON.stringify(state).length > maxState ? { '(state)': 'too large to show' } : { ...state } };
}

function shownLogs(logs: readonly string[]): Pick<Reset, 'logs'> {
	return logs.length === 0 ? {} : { logs: [...logs] };
}
