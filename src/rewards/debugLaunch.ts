import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as v from 'valibot';
import { Failure } from '../base/failure.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import { type LoadRequest, type RewardContext, scoreReplySchema } from '../protocol/rewardHost.ts';
import type { ScoreRow } from '../protocol/scorer.ts';

/** A batch of which one reward is to be debugged. */
export interface DebugRequest {
	/** The reward file, absolute. */
	readonly file: string;
	readonly reward: string;
	readonly context: RewardContext;
	readonly rows: readonly ScoreRow[];
}

/** While a debugger holds the program nothing is too slow. */
const timeoutMs = 24 * 3600_000;

const outcomeSchema = v.union([
	v.object({ reply: scoreReplySchema }),
	v.object({ failure: v.looseObject({ message: v.string() }) }),
]);
export type DebugOutcome = v.InferOutput<typeof outcomeSchema>;

/**
 * What a reward host is started with to score one batch under a debugger: `PROGRAM --once REQUEST REPLY`. The same program,
 * loading and scoring as in verification and in training.
 */
export class DebugBatch {
	readonly #folder: string;
	/** Arguments of the host program. */
	readonly args: readonly string[];

	private constructor(folder: string) {
		this.#folder = folder;
		this.args = ['--once', join(folder, 'request.json'), join(folder, 'reply.json')];
	}

	static async write({ file, reward, context, rows }: DebugRequest): Promise<DebugBatch> {
		const folder = await mkdtemp(join(tmpdir(), 'reward-debug-'));
		const load: LoadRequest = { file, builtIns: [], context };
		const score = { reward, rows, timeoutMs, coverage: false };
		await writeFile(join(folder, 'request.json'), JSON.stringify({ load, score }), { mode: 0o600 });
		return new DebugBatch(folder);
	}

	/** What came of it; null when the program was ended before it was done. */
	async outcome(): Promise<DebugOutcome | null> {
		const text = await readFile(this.args[2] as string, 'utf8').catch(() => null);
		return text === null ? null : decodeOrThrow(outcomeSchema, JSON.parse(text), 'The result of the debugged reward');
	}

	async remove(): Promise<void> {
		await rm(this.#folder, { recursive: true, force: true });
	}
}

/** Arguments that the debugger of Python (debugpy) launches the host with, by its names for them. */
export function pythonLaunch(python: string, programs: string, batch: DebugBatch): Record<string, unknown> {
	return {
		request: 'launch',
		python: [python],
		program: join(programs, 'python', 'reward_host.py'),
		args: batch.args,
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

/** What a debugged row came to, in a sentence. */
export function outcomeWords(outcome: DebugOutcome, index: number, label: string): string {
	if ('failure' in outcome) throw new Failure('invalid', outcome.failure.message);
	const { values, errors } = outcome.reply;
	const error = errors.find((one) => one.index === index || one.index === -1);
	if (error !== undefined) return `${label}: ${error.message}`;
	const value = values[index] ?? null;
	return `${label}: ${value === null ? 'the reward does not apply (null)' : value}`;
}
