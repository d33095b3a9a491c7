import * as v from 'valibot';
import { decode } from '../../protocol/decode.ts';
import type { ToolCall } from '../../protocol/episode.ts';

/** Column of a dataset row with the calls that solve it. */
export const solutionColumn = 'calls';

/** A call, written by itself or as in a chat message. */
const callSchema = v.union([
	v.object({ name: v.string(), arguments: v.optional(v.record(v.string(), v.unknown()), {}) }),
	v.pipe(
		v.object({
			type: v.optional(v.literal('function')),
			function: v.object({ name: v.string(), arguments: v.optional(v.record(v.string(), v.unknown()), {}) }),
		}),
		v.transform((call) => call.function),
	),
]);
/** Longest solution; an episode of any length would let a dataset occupy the host. */
const maxTurns = 1000;

/** Turns; a turn is a call, or a list of calls made in one message. */
const solutionSchema = v.pipe(v.array(v.union([callSchema, v.array(callSchema)])), v.maxLength(maxTurns));

export interface Solution {
	/** Calls by turn; null if the row has no solution. */
	readonly turns: readonly (readonly ToolCall[])[] | null;
	/** Why the column cannot be used. */
	readonly fault?: string;
}

/** Returns the turns that solve a row, from its column `calls`: a list of calls, `{"name", "arguments"}`. */
export function solutionOf(row: Readonly<Record<string, unknown>>): Solution {
	const written = row[solutionColumn];
	if (written === undefined || written === null) return { turns: null };
	const decoded = decode(solutionSchema, written);
	if (!decoded.ok) {
		return {
			turns: null,
			fault: `The column ${solutionColumn} is not a list of up to ${maxTurns} tool calls, {"name", "arguments"}`,
		};
	}
	return { turns: decoded.value.map((turn) => (Array.isArray(turn) ? turn : [turn])) };
}
