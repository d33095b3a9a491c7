import type { BenchmarkJudge } from '../../core/evaluation/benchmarks.ts';
import { multipleChoiceReward } from '../../core/reward/multipleChoiceReward.ts';
import { parseTrace } from '../../core/trace/parseTrace.ts';
import type { TraceTags } from '../../core/trace/trace.ts';
import type { TaskDataset } from '../../protocol/recipeKeys/recipe.ts';
import type { SearchProblem } from '../../protocol/treeLog.ts';
import { createCodeTests } from '../../rewards/codeTests.ts';
import { findSandbox } from '../../rewards/sandbox/findSandbox.ts';
import type { Sandbox } from '../../rewards/sandbox/sandbox.ts';
import { createVerdict } from '../verdicts.ts';

/** Returns whether a completion is correct; null if that cannot be determined. */
export type Judge = (problem: SearchProblem, completion: string, signal?: AbortSignal) => Promise<0 | 1 | null>;

/** Limits for the program that runs tests; R1's code benchmarks stay below both. */
const limits = { timeoutSeconds: 10, memoryMb: 1024 } as const;

/**
 * Opens the judge for a set of problems. The code judge runs programs in the sandbox; opening it fails with
 * `unavailable` if there is no sandbox, before anything is sampled.
 */
export async function openJudge(
	kind: BenchmarkJudge,
	tags: TraceTags,
	task: TaskDataset | null,
	folder: string,
	find: () => Promise<Sandbox> = findSandbox,
): Promise<Judge> {
	if (kind === 'math') {
		const verdict = await createVerdict(tags, task, folder);
		return async (problem, completion) => verdict(problem, completion);
	}
	const sampleOf = ({ prompt, answer, row }: SearchProblem, completion: string) => ({
		...{ prompt, completion, answer, row, truncated: false, trace: parseTrace(completion, tags) },
	});
	const binary = (value: number | null): 0 | 1 | null => (value === null ? null : value > 0.5 ? 1 : 0);
	if (kind === 'choice') {
		const options = { options: 'options' };
		return async (problem, completion) => binary(multipleChoiceReward(sampleOf(problem, completion), options, tags));
	}
	const sandbox = await find();
	const entry = {
		use: 'code-tests',
		name: 'code-tests',
		weight: 1,
		mode: 'all',
		language: 'python',
		...limits,
	} as const;
	const tests = createCodeTests(entry, async () => sandbox);
	const never = new AbortController().signal;
	let running = 0;
	const waiting: (() => void)[] = [];
	return async (problem, completion, signal = never) => {
		// Each program needs its own memory, so limit how many run concurrently to what the machine can handle.
		while (running >= (tests.concurrency ?? 1)) await new Promise<void>((resolve) => waiting.push(resolve));
		running++;
		try {
			return binary(await tests.score(sampleOf(problem, completion), signal));
		} finally {
			running--;
			waiting.shift()?.();
		}
	};
}
