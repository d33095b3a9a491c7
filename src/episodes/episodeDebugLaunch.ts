import { Failure } from '../base/failure.ts';
import type { Schema } from '../protocol/decode.ts';
import { type DebuggedEpisode, type PlayReply, playReplySchema } from '../protocol/environmentHost.ts';
import type { ToolCall } from '../protocol/episode.ts';
import { DebugFiles, type DebugResult } from '../rewards/debugFiles.ts';

/** An episode to debug. */
export interface EpisodeDebugRequest {
	/** Absolute path of the environment file. */
	readonly file: string;
	readonly row: Readonly<Record<string, unknown>>;
	readonly seed: number;
	/** Calls in each turn, up to the turn to stop in; empty to stop in the reset. */
	readonly calls: readonly (readonly ToolCall[])[];
}

export type EpisodeDebugOutcome = DebugResult<PlayReply>;

/**
 * Writes the request for playing one episode under a debugger. Uses the same program, loading and calls as
 * verification and training, without their limits.
 */
export function writeEpisodeDebugLaunch(asked: EpisodeDebugRequest): Promise<DebugFiles<PlayReply>> {
	const { file, row, seed, calls } = asked;
	const request: DebuggedEpisode = {
		load: { file, seed },
		reset: { row, seed },
		calls: calls.map((turn) => turn.map((call) => ({ name: call.name, arguments: call.arguments ?? null }))),
	};
	const schema = playReplySchema as unknown as Schema<PlayReply>;
	return DebugFiles.write('episode-debug-', '--episode', request, schema, 'The result of the debugged episode');
}

/** Returns a breakpoint condition that is true only in this turn; turn 0 is the reset. */
export function turnCondition(file: string, turn: number): string {
	return file.endsWith('.py')
		? `__import__("os").environ.get("REASONING_LAB_TURN") == "${turn}"`
		: `process.env.REASONING_LAB_TURN === "${turn}"`;
}

/** Describes the result of the last turn played, in one sentence. @throws Failure if the file could not be loaded */
export function episodeOutcomeText(outcome: EpisodeDebugOutcome): string {
	if ('failure' in outcome) throw new Failure('invalid', outcome.failure.message);
	const { reset, turns } = outcome.reply;
	const last = turns.at(-1) ?? reset;
	const name = turns.length === 0 ? 'Reset' : `Turn ${turns.length}`;
	if (last.error !== undefined) return `${name} failed: ${last.error.message}`;
	const results = turns.at(-1)?.results?.map(({ content }) => content) ?? [reset.observation ?? 'no observation'];
	const text = results.join('; ');
	return `${name}: ${text.length > 300 ? `${text.slice(0, 300)}…` : text}`;
}
