import * as v from 'valibot';
import { decode } from '../../protocol/decode.ts';
import type { ToolCall } from '../../protocol/episode.ts';

/** Dataset column with the calls that solve the row. */
export const solutionColumn = 'calls';

/** A call, either bare or in chat message format. */
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
/** Maximum solution length in turns; without a limit, a dataset could tie up the host. */
const maxTurns = 1000;

/** A list of turns; each turn is a call or a list of calls made in one message. */
const solutionSchema = v.pipe(v.array(v.union([callSchema, v.array(callSchema)])), v.maxLength(maxTurns));

export interface Solution {
	/** Calls by turn; null if the row has no solution. */
	readonly turns: readonly (readonly ToolCall[])[] | null;
	/** Why the column cannot be used. */
	readonly fault?: string;
}

/** Returns the turns that solve a row, from its `calls` column: a list of calls, `{"name", "arguments"}`. */
export function solutionOf(row: Readonly<Record<string, unknown>>): Solution {
	const written = row[solutionColumn];
	if (written === undefined || written === null) return { turns: null };
	const decoded = decode(solutionSchema, written);
	if (!decoded.ok) {
		return {
			turns: null,
			fault: `The "${solutionColumn}" column is not a list of up to ${maxTurns} tool calls, {"name", "arguments"}`,
		};
	}
	return { turns: decoded.value.map((turn) => (Array.isArray(turn) ? turn : [turn])) };
}
