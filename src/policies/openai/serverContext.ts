import { serverMessage } from '../../rpc/http/httpFailures.ts';
import { Refused } from './openAiServer.ts';

/** Context length information from an error response. */
export interface ContextRefusal {
	/** Context length and prompt length in tokens, or null if not reported. */
	readonly context: number | null;
	readonly promptTokens: number | null;
	/** Maximum number of tokens that can be requested instead, or null if there is no room or it was not reported. */
	readonly room: number | null;
}

const about =
	/context[ _-]?(?:length|size|window|limit)|maximum context|max_(?:completion_)?tokens.{0,40}too large|longer than the model|prompt is too long|exceed_context|too many (?:input )?tokens/i;

/** Parses a context length error. Returns null for any other error. */
export function contextRefusal(error: unknown): ContextRefusal | null {
	if (!(error instanceof Refused) || ![400, 413, 422].includes(error.status)) return null;
	const said = serverMessage(error.body).slice(0, 4000);
	if (!about.test(said) && !about.test(error.body.slice(0, 4000))) return null;
	const number = (pattern: RegExp) => {
		const digits = pattern.exec(said)?.[1];
		return digits === undefined ? null : Number(digits);
	};
	const context =
		number(/(?:context (?:length|size|window)(?: is| of)?|context length \()[^\d]{0,12}(\d+)/i) ??
		number(/\((\d+)(?: tokens)?\)\s*$/);
	const promptTokens =
		number(/(\d+) in the messages/i) ??
		number(/(\d+) (?:input|prompt) tokens/i) ??
		number(/(?:input|prompt|request)[^\d]{0,20}\((\d+) tokens\)/i);
	const allowed = number(/at most (\d+) completion tokens/i);
	const left = context !== null && promptTokens !== null && promptTokens < context ? context - promptTokens : null;
	return { context, promptTokens, room: allowed ?? left };
}
