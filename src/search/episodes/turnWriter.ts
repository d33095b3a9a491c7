import type { Generated, GenerateRequest, Generation, SearchTurn, TurnCall } from '../../core/search/policy.ts';
import type { ToolCall } from '../../protocol/episode.ts';

/** A turn for the policy to write. */
export interface TurnRequest {
	/** The search request that the turn belongs to. */
	readonly request: GenerateRequest;
	/** Problem with the text that `reset` returned. */
	readonly prompt: string;
	/** Turns so far. The last one has no calls if it is incomplete. */
	readonly turns: readonly SearchTurn[];
	readonly maxTokens: number;
	readonly seed: number;
}

/** A turn as the policy wrote it. */
export interface WrittenTurn {
	/** New text, including the calls. */
	readonly generation: Generation;
	readonly calls: readonly ToolCall[];
}

/** Lets a policy write the next turn of episodes. */
export interface TurnWriter {
	/** Returns one entry per request, in order. Rejects with the same errors as `Policy.generate`. */
	write(
		requests: readonly TurnRequest[],
	): Promise<readonly (WrittenTurn | Exclude<Generated, readonly Generation[]>)[]>;
	/** Returns a turn's results as text. */
	results(calls: readonly TurnCall[]): string;
	/** Escapes tags in text from the environment. */
	plain(text: string): string;
}
