import { serverMessage } from '../../rpc/http/httpFailures.ts';
import { Refused } from './openAiServer.ts';

/** What a refusal says of the model's context. */
export interface ContextRefusal {
	/** Tokens of the context, and of what it was given; null: it does not say. */
	readonly context: number | null;
	readonly promptTokens: number | null;
	/** Tokens that may be asked for instead; null: there is no room, or it does not say. */
	readonly room: number | null;
}

const about =
	/context[ _-]?(?:length|size|window|limit)|maximum context|max_(?:completion_)?tokens.{0,40}too large|longer than the model|prompt is too long|exceed_context|too many (?:input )?tokens/i;

/** A refusal because of the context's length; null: it is about something else. */
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
