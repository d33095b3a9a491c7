import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import type { FailureGroup } from '../../base/failureTally.ts';
import { decode } from '../../protocol/decode.ts';
import { type CliProgram, runCli } from '../cliProcess.ts';

const count = v.pipe(v.number(), v.minValue(0));
const lineSchema = v.variant('kind', [
	v.looseObject({ kind: v.literal('progress'), done: count, total: count }),
	v.looseObject({
		kind: v.literal('evaluation'),
		folder: v.string(),
		done: count,
		total: count,
		failures: v.optional(v.array(v.looseObject({ message: v.string(), count })), []),
		report: v.looseObject({ accuracy: v.looseObject({ accuracy: v.number(), low: v.number(), high: v.number() }) }),
	}),
]);

/** The result of a checkpoint evaluation. */
export interface EvaluationResult {
	/** Folder that contains the evaluation. */
	readonly folder: string;
	readonly done: number;
	readonly total: number;
	/** Reasons for missing completions, most frequent first. */
	readonly failures: readonly FailureGroup[];
	/** pass@1 with its 95% interval. */
	readonly accuracy: { readonly accuracy: number; readonly low: number; readonly high: number };
}

export interface EvaluationProgram extends Pick<CliProgram, 'cli' | 'node' | 'cwd' | 'environment' | 'signal'> {
	/** Arguments for `evaluate`. */
	readonly args: readonly string[];
	onProgress(done: number, total: number): void;
}

/**
 * Runs an evaluation in a separate process. Fails with the same errors as the verb, or with `cancelled` if the signal
 * is aborted, in which case completed work is kept and a later call with the same arguments continues it.
 */
export async function runEvaluation(program: EvaluationProgram): Promise<EvaluationResult> {
	const { args, onProgress, ...rest } = program;
	let result: EvaluationResult | null = null;
	const words = await runCli({
		...rest,
		args: ['evaluate', ...args],
		onObject: (value) => {
			const decoded = decode(lineSchema, value);
			if (!decoded.ok) return;
			const line = decoded.value;
			if (line.kind === 'progress') return onProgress(line.done, line.total);
			const { folder, done, total, failures, report } = line;
			result = { folder, done, total, failures, accuracy: report.accuracy };
		},
	});
	if (result !== null) return result;
	throw new Failure('internal', `The evaluation exited without a result${words ? `: ${words}` : ''}.`);
}
