import { turnsOfRollout } from '../core/trace/conversation.ts';
import type { RolloutLine } from '../protocol/rolloutLine.ts';
import { listOf, type SqlValue, structOf } from './duckdb.ts';

/** Maximum number of indexed turns per rollout, and of indexed calls per turn. */
const maxTurns = 2000;
const maxCalls = 200;
/** Maximum length of indexed names and arguments. */
const longestName = 200;
export const longestArguments = 500;
/** Maximum length of an indexed state, the same as for states recorded in runs. */
export const longestState = 1100;

export interface IndexedCall {
	readonly name: string;
	readonly arguments: string;
	/** null if there is no result. */
	readonly failed: boolean | null;
	/** Length of the result; null if there is none. */
	readonly characters: number | null;
}

export interface IndexedTurn {
	readonly message: number | null;
	readonly reward: number | null;
	readonly seconds: number | null;
	readonly state: string | null;
	readonly calls: readonly IndexedCall[];
}

/** Type of the column with a rollout's turns. */
export const turnsType =
	'STRUCT(message INTEGER, reward DOUBLE, seconds DOUBLE, state VARCHAR, failures INTEGER, calls STRUCT("name" VARCHAR, arguments VARCHAR, failed BOOLEAN, characters INTEGER)[])[]';

/** Returns the data to index for a rollout's turns, or null if it has none. */
export function indexedTurns(line: RolloutLine): IndexedTurn[] | null {
	const turns = turnsOfRollout(line);
	if (turns.length === 0) return null;
	return turns.slice(0, maxTurns).map(({ message, reward, seconds, state, calls }) => ({
		...{ message, reward, seconds, state: state === null ? null : JSON.stringify(state).slice(0, longestState) },
		calls: calls.slice(0, maxCalls).map(({ name, arguments: given, result }) => ({
			name: name.slice(0, longestName),
			arguments: given.slice(0, longestArguments),
			failed: result?.failed ?? null,
			characters: result?.content.length ?? null,
		})),
	}));
}

/** Builds the column value. */
export function turnsValue(turns: readonly IndexedTurn[] | null): SqlValue {
	if (turns === null) return null;
	return listOf(
		turns.map(({ message, reward, seconds, state, calls }) =>
			structOf({
				...{ message, reward, seconds, state },
				failures: calls.filter(({ failed }) => failed === true).length,
				calls: listOf(calls.map((call) => structOf({ ...call }))),
			}),
		),
	);
}
