import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as v from 'valibot';
import { Failure } from '../base/failure.ts';
import { readNamed } from '../files/safeFile.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import { type LoadRequest, type RewardContext, scoreReplySchema } from '../protocol/rewardHost.ts';
import type { ScoreRow } from '../protocol/scorer.ts';

/** A row on which a reward is to be debugged. */
export interface DebugRequest {
	/** The reward file, absolute. */
	readonly file: string;
	readonly reward: string;
	readonly context: RewardContext;
	readonly row: ScoreRow;
}

/** While a debugger holds the program nothing is too slow. */
const timeoutMs = 24 * 3600_000;

const outcomeSchema = v.union([
	v.object({ reply: scoreReplySchema }),
	v.object({ failure: v.looseObject({ message: v.string() }) }),
]);
export type DebugOutcome = v.InferOutput<typeof outcomeSchema>;

/**
 * What a reward host is started with to score one row under a debugger: `PROGRAM --once REQUEST REPLY`. The same program,
 * loading and scoring as in verification and in training, but for the other rows of a batch: a breakpoint would stop at each
 * of them, and a reward that is called with the whole batch could not be told which row is meant.
 */
export class DebugLaunch {
	readonly #folder: string;
	/** Arguments of the host program. */
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

	/** What came of it; null when the program was ended before it was done. */
	async outcome(): Promise<DebugOutcome | null> {
		const text = (await readNamed(this.args[2] as string).catch(() => null))?.toString('utf8') ?? null;
		return text === null ? null : decodeOrThrow(outcomeSchema, JSON.parse(text), 'The result of the debugged reward');
	}

	async remove(): Promise<void> {
		await rm(this.#folder, { recursive: true, force: true });
	}
}

/** Arguments that the debugger of Python (debugpy) launches the host with, by its names for them. */
export function pythonLaunch(python: string, programs: string, launch: DebugLaunch): Record<string, unknown> {
	return {
		request: 'launch',
		python: [python],
		program: join(programs, 'python', 'reward_host.py'),
		args: launch.args,
		console: 'internalConsole',
		// The host's own code is passed over.
		justMyCode: true,
		subProcess: false,
		redirectOutput: true,
	};
}

/** The port on which a Node that was started with `--inspect-brk=127.0.0.1:0` says that it listens. */
export function inspectorPort(printed: string): number | null {
	const port = /Debugger listening on ws:\/\/127\.0\.0\.1:(\d+)\//.exec(printed)?.[1];
	return port === undefined ? null : Number(port);
}

/**
 * What a debugged row came to, in a sentence.
 *
 * @param before what the reward gave the row among the others of its batch; undefined: that is not known
 */
export function outcomeWords(outcome: DebugOutcome, label: string, before?: number | null): string {
	if ('failure' in outcome) throw new Failure('invalid', outcome.failure.message);
	const { values, errors } = outcome.reply;
	const error = errors[0];
	if (error !== undefined) return `${label}: ${error.message}`;
	const value = values[0] ?? null;
	const told = `${label}: ${valueWords(value)}`;
	if (before === undefined || before === value) return told;
	return `${told} alone. In its batch it was ${valueWords(before)}: the reward depends on other rows or on chance, or was changed since.`;
}

const valueWords = (value: number | null) => (value === null ? 'null (the reward does not apply)' : `${value}`);
