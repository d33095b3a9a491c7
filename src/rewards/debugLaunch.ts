import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as v from 'valibot';
import { Failure } from '../base/failure.ts';
import { readNamed } from '../files/safeFile.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import { type LoadRequest, type RewardContext, scoreReplySchema } from '../protocol/rewardHost.ts';
import type { ScoreRow } from '../protocol/scorer.ts';

/** A row on which to debug a reward. */
export interface DebugRequest {
	/** Absolute path of the reward file. */
	readonly file: string;
	readonly reward: string;
	readonly context: RewardContext;
	readonly row: ScoreRow;
}

/** A debugger can pause the program for any length of time, so the timeout is a full day. */
const timeoutMs = 24 * 3600_000;

const outcomeSchema = v.union([
	v.object({ reply: scoreReplySchema }),
	v.object({ failure: v.looseObject({ message: v.string() }) }),
]);
export type DebugOutcome = v.InferOutput<typeof outcomeSchema>;

/**
 * Command line and files for scoring a single row under a debugger: `PROGRAM --once REQUEST REPLY`. Uses the same
 * program, loading and scoring as verification and training, but without the batch's other rows. With those rows, a
 * breakpoint would be hit on every row, and a reward that is called with a whole batch would not know which row to
 * debug.
 */
export class DebugLaunch {
	readonly #folder: string;
	/** Arguments for the host program. */
	readonly args: readonly string[];

	private constructor(folder: string) {
		this.#folder = folder;
		this.args = ['--once', join(folder, 'request.json'), join(folder, 'reply.json')];
	}

	static async write({ file, reward, context, row }: DebugRequest): Promise<DebugLaunch> {
		const folder = await mkdtemp(join(tmpdir(), 'reward-debug-'));
		const load: LoadRequest = { file, builtIns: [], context };
		const score = { reward, rows: [row], timeoutMs, coverage: false };
		await writeFile(join(folder, 'request.json'), JSON.stringify({ load, score }), { mode: 0o600 });
		return new DebugLaunch(folder);
	}

	/** Returns the outcome, or null if the program exited before writing one. */
	async outcome(): Promise<DebugOutcome | null> {
		const text = (await readNamed(this.args[2] as string).catch(() => null))?.toString('utf8') ?? null;
		return text === null ? null : decodeOrThrow(outcomeSchema, JSON.parse(text), 'The result of the debugged reward');
	}

	async remove(): Promise<void> {
		await rm(this.#folder, { recursive: true, force: true });
	}
}

/** Returns the launch arguments for debugpy, under the names that debugpy uses. */
export function pythonLaunch(
	python: string,
	programs: string,
	launch: Pick<DebugLaunch, 'args'>,
): Record<string, unknown> {
	return {
		request: 'launch',
		python: [python],
		program: join(programs, 'python', 'reward_host.py'),
		args: launch.args,
		console: 'internalConsole',
		// Skip the host's own code.
		justMyCode: true,
		subProcess: false,
		redirectOutput: true,
	};
}

/** Returns the port that a Node process started with `--inspect-brk=127.0.0.1:0` reports in its output, or null. */
export function inspectorPort(printed: string): number | null {
	const port = /Debugger listening on ws:\/\/127\.0\.0\.1:(\d+)\//.exec(printed)?.[1];
	return port === undefined ? null : Number(port);
}

/**
 * Describes the outcome of debugging a row, in one sentence.
 *
 * @param before value of the row when it was scored as part of its batch; undefined if unknown
 */
export function outcomeWords(outcome: DebugOutcome, label: string, before?: number | null): string {
	if ('failure' in outcome) throw new Failure('invalid', outcome.failure.message);
	const { values, errors } = outcome.reply;
	const error = errors[0];
	if (error !== undefined) return `${label}: ${error.message}`;
	const value = values[0] ?? null;
	const message = `${label}: ${valueWords(value)}`;
	if (before === undefined || before === value) return message;
	return `${message} when scored alone, but was ${valueWords(before)} in its batch. The reward depends on other rows or on randomness, or it has changed since.`;
}

const valueWords = (value: number | null) => (value === null ? 'null (the reward does not apply)' : `${value}`);
