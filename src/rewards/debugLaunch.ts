import { join } from 'node:path';
import { Failure } from '../base/failure.ts';
import type { Schema } from '../protocol/decode.ts';
import { type LoadRequest, type RewardContext, type ScoreReply, scoreReplySchema } from '../protocol/rewardHost.ts';
import type { ScoreRow } from '../protocol/scorer.ts';
import { DebugFiles, type DebugResult } from './debugFiles.ts';

/** A row to debug a reward on. */
export interface DebugRequest {
	/** Absolute path to the reward file. */
	readonly file: string;
	readonly reward: string;
	readonly context: RewardContext;
	readonly row: ScoreRow;
}

/** A debugger can pause the program for any length of time, so the timeout is a full day. */
const timeoutMs = 24 * 3600_000;

export type DebugOutcome = DebugResult<ScoreReply>;

/**
 * Writes the request for scoring a single row under a debugger. Uses the same program, loading and scoring as
 * verification and training, but without the batch's other rows. With those rows, a breakpoint would be hit on every row,
 * and a reward that is called with a whole batch would not know which row to debug.
 */
export function writeDebugLaunch({ file, reward, context, row }: DebugRequest): Promise<DebugFiles<ScoreReply>> {
	const load: LoadRequest = { file, builtIns: [], context };
	const score = { reward, rows: [row], timeoutMs, coverage: false };
	const schema = scoreReplySchema as unknown as Schema<ScoreReply>;
	return DebugFiles.write('reward-debug-', '--once', { load, score }, schema, 'The result of the debugged reward');
}

/** Returns the launch arguments for debugpy, under the names that debugpy uses. */
export function pythonLaunch(
	python: string,
	programs: string,
	launch: { readonly args: readonly string[] },
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
