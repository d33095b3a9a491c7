import { formatCounted } from '../../base/format.ts';
import type { Episode, EpisodeTurn } from '../../protocol/episode.ts';
import type { EpisodeBranch, ShownTurn } from '../../protocol/episodeMessages.ts';
import { episodeDifference } from './episodeDifference.ts';
import { comparableStates } from './shortState.ts';
import { type StateChange, stateChanges } from './stateChanges.ts';

/** Differences between a turn and the same turn in another episode. */
export interface TurnDifference {
	/**
	 * `same`; `differs`: the same calls had different results; `calls`: the calls differ; `only`: the other episode has
	 * no such turn; `missing`: this one has none.
	 */
	readonly kind: 'same' | 'differs' | 'calls' | 'only' | 'missing';
	/** Whether each result differs, in order. */
	readonly results: readonly boolean[];
	readonly done: boolean;
	/** Whether the turn reward differs; false if only one of the two is known. */
	readonly reward: boolean;
	/** Changed state values: `before` in the other episode, `after` in this one. */
	readonly state: readonly StateChange[];
}

export interface BranchDifference {
	/** `observation`: whether the text returned by reset differs. */
	readonly reset: { readonly observation: boolean; readonly state: readonly StateChange[] };
	readonly turns: readonly TurnDifference[];
	/** false if only one of the rewards is known. */
	readonly reward: boolean;
	readonly error: boolean;
	/**
	 * Index of the first turn that differs: 0 for the reset, and the number of turns plus 1 for the reward. null if
	 * there is none.
	 */
	readonly first: number | null;
	/** Description of the first difference that a model would see; null if there is none. */
	readonly text: string | null;
}

/** Compares an episode with the one that it repeats or follows. */
export function branchDifference(branch: EpisodeBranch, other: EpisodeBranch): BranchDifference {
	const observation = branch.reset?.observation !== other.reset?.observation || restOf(branch) !== restOf(other);
	const reset = { observation, state: stateDifference(other.reset?.state, branch.reset?.state) };
	const length = Math.max(branch.turns.length, other.turns.length);
	const turns = Array.from({ length }, (_, i) => turnDifference(branch.turns[i], other.turns[i]));
	const known = branch.reward !== null && other.reward !== null;
	const reward = known && branch.reward?.value !== other.reward?.value;
	const error = branch.error?.kind !== other.error?.kind || branch.error?.message !== other.error?.message;
	const at = turns.findIndex(({ kind }) => kind !== 'same');
	const first =
		observation || reset.state.length > 0
			? 0
			: at >= 0
				? at + 1
				: reward || error
					? Math.max(branch.turns.length, other.turns.length) + 1
					: null;
	return { reset, turns, reward, error, first, text: differenceText(branch, other, turns) };
}

/** Returns whether two episodes with the same calls look the same to a model up to the given turn. */
export function samePrefix(a: EpisodeBranch, b: EpisodeBranch, turn: number): boolean {
	if (a.reset?.observation !== b.reset?.observation || restOf(a) !== restOf(b)) return false;
	for (let i = 0; i < turn; i++) {
		const [one, other] = [a.turns[i], b.turns[i]];
		if (one === undefined || other === undefined) return false;
		if (one.results.length !== other.results.length || differingResults(one, other).includes(true)) return false;
	}
	return true;
}

function turnDifference(turn: ShownTurn | undefined, other: ShownTurn | undefined): TurnDifference {
	const none = { results: [], done: false, reward: false, state: [] };
	if (turn === undefined) return { kind: 'missing', ...none };
	if (other === undefined) return { kind: 'only', ...none };
	const state = stateDifference(other.state, turn.state);
	if (JSON.stringify(turn.calls) !== JSON.stringify(other.calls)) return { kind: 'calls', ...none, state };
	const results = differingResults(turn, other);
	// Recorded episodes do not always include the observation.
	const done = turn.done !== null && other.done !== null && turn.done !== other.done;
	const reward = knownRewards(turn, other) && turn.reward !== other.reward;
	const answers = results.includes(true) || turn.results.length !== other.results.length;
	const differs = answers || done || reward || state.length > 0;
	return { kind: differs ? 'differs' : 'same', results, done, reward, state };
}

type State = ShownTurn['state'];

/** Returns the changes between two states, one of which can be in the short form that rollouts record. */
function stateDifference(before: State, after: State): StateChange[] {
	if (before === undefined || after === undefined) return [];
	const changes = stateChanges(before, after);
	return changes.length === 0 ? changes : stateChanges(...comparableStates(before, after));
}

function differingResults(turn: ShownTurn, other: ShownTurn): boolean[] {
	return turn.results.map(({ content, failed, rest }, i) => {
		const one = other.results[i];
		return one === undefined || one.content !== content || one.failed !== failed || one.rest?.hash !== rest?.hash;
	});
}

function restOf({ reset }: EpisodeBranch): string | undefined {
	return reset?.rest?.hash;
}

function differenceText(branch: EpisodeBranch, other: EpisodeBranch, turns: readonly TurnDifference[]): string | null {
	const diverged = turns.findIndex(({ kind }) => kind === 'calls' || kind === 'only' || kind === 'missing');
	const text = episodeDifference(comparable(other, branch, diverged), comparable(branch, other, diverged))?.text;
	if (text !== undefined) return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
	if (diverged < 0) return null;
	const { kind } = turns[diverged] as TurnDifference;
	if (kind === 'calls') return `Different calls from turn ${diverged + 1} onward`;
	return `${kind === 'only' ? 'Longer' : 'Shorter'}: identical for ${formatCounted(diverged, 'turn')}`;
}

/**
 * Returns the part of an episode to compare. Omits everything after the episodes diverge, where differences are
 * expected, and rewards that only one of them has, because the other may not have recorded them.
 */
function comparable(branch: EpisodeBranch, other: EpisodeBranch, diverged: number): Episode {
	const episode = episodeOf(branch);
	const turns = episode.turns.map((turn, i): EpisodeTurn => {
		if (knownRewards(branch.turns[i], other.turns[i])) return turn;
		const { reward: _, ...rest } = turn;
		return rest;
	});
	if (diverged < 0) return { ...episode, turns };
	const { error: _, ...rest } = episode;
	return { ...rest, turns: turns.slice(0, diverged), reward: null };
}

const knownRewards = (one: ShownTurn | undefined, other: ShownTurn | undefined): boolean =>
	typeof one?.reward === 'number' && typeof other?.reward === 'number';

/** Converts an episode from the view's format to the common format. */
export function episodeOf({ row, reset, turns, reward, error }: EpisodeBranch): Episode {
	return {
		row: row ?? 0,
		policy: 'view',
		observation: reset?.observation ?? null,
		turns: turns.map(({ calls, results, done, reward: ofTurn, durationMs }) => ({
			...{ calls, results, done, durationMs: durationMs ?? 0 },
			...(typeof ofTurn === 'number' ? { reward: ofTurn } : {}),
		})),
		reward: reward?.value ?? null,
		stop: error === undefined ? 'policy' : 'failed',
		...(error === undefined ? {} : { error }),
		durationMs: 0,
		logs: [],
	};
}
