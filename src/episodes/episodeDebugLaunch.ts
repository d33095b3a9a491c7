import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as v from 'valibot';
import { Failure } from '../base/failure.ts';
import { readNamed } from '../files/safeFile.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import { type DebuggedEpisode, playReplySchema } from '../protocol/environmentHost.ts';
import type { ToolCall } from '../protocol/episode.ts';

/** An episode to debug. */
export interface EpisodeDebugRequest {
	/** Absolute path of the environment file. */
	readonly file: string;
	readonly row: Readonly<Record<string, unknown>>;
	readonly seed: number;
	/** Calls by turn, up to the turn in which to stop; none to stop in the reset. */
	readonly calls: readonly (readonly ToolCall[])[];
}

const outcomeSchema = v.union([
	v.object({ reply: playReplySchema }),
	v.object({ failure: v.looseObject({ message: v.string() }) }),
]);
export type EpisodeDebugOutcome = v.InferOutput<typeof outcomeSchema>;

/**
 * Command line and files for playing one episode under a debugger: `PROGRAM --episode REQUEST REPLY`. Uses the same program,
 * loading and calls as verification and training, without their limits.
 */
export class EpisodeDebugLaunch {
	readonly #folder: string;
	/** Arguments for the host program. */
	readonly args: readonly string[];

	private constructor(folder: string) {
		this.#folder = folder;
		this.args = ['--episode', join(folder, 'request.json'), join(folder, 'reply.json')];
	}

	static async write({ file, row, seed, calls }: EpisodeDebugRequest): Promise<EpisodeDebugLaunch> {
		const folder = await mkdtemp(join(tmpdir(), 'episode-debug-'));
		const request: DebuggedEpisode = {
			load: { file, seed },
			reset: { row, seed },
			calls: calls.map((turn) => turn.map((call) => ({ name: call.name, arguments: call.arguments ?? null }))),
		};
		await writeFile(join(folder, 'request.json'), JSON.stringify(request), { mode: 0o600 });
		return new EpisodeDebugLaunch(folder);
	}

	/** Returns the outcome, or null if the program exited before writing one. */
	async outcome(): Promise<EpisodeDebugOutcome | null> {
		const text = (await readNamed(this.args[2] as string).catch(() => null))?.toString('utf8') ?? null;
		return text === null ? null : decodeOrThrow(outcomeSchema, JSON.parse(text), 'The result of the debugged episode');
	}

	async remove(): Promise<void> {
		await rm(this.#folder, { recursive: true, force: true });
	}
}

/** Returns a breakpoint condition that holds only in this turn, where 0 is the reset. */
export function turnCondition(file: string, turn: number): string {
	return file.endsWith('.py')
		? `__import__("os").environ.get("REASONING_LAB_TURN") == "${turn}"`
		: `process.env.REASONING_LAB_TURN === "${turn}"`;
}

/** Describes the result of the last turn that was played, in one sentence. @throws Failure if the file could not be loaded */
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
