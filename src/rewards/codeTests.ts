import { availableParallelism } from 'node:os';
import type { RewardEntry } from '../protocol/builtInRewards.ts';
import type { BuiltIn } from './builtInReward.ts';
import { codeOfAnswer } from './codeTestsAnswer.ts';
import { readCodeTests } from './codeTestsCases.ts';
import { codeTestsAtOnce, runCodeTests } from './codeTestsRun.ts';
import { findSandbox } from './sandbox/findSandbox.ts';
import type { Sandbox } from './sandbox/sandbox.ts';

/**
 * The answer's code passes the tests of its row: 1 or 0, or the share that passes. null: the row has no tests; 0: the answer
 * has no code. Without a sandbox every row is an error that says what to do, not 0.
 *
 * Neither what the code writes nor how it ends is believed: outputs and values are compared where the code does not run.
 */
export function createCodeTests(entry: RewardEntry<'code-tests'>, find: () => Promise<Sandbox> = findSandbox): BuiltIn {
	let found: Promise<Sandbox> | undefined;
	const sandbox = () => {
		found ??= find().catch((error: unknown) => {
			// It may be installed in the meantime.
			found = undefined;
			throw error;
		});
		return found;
	};
	return {
		concurrency: codeTestsAtOnce(entry.memoryMb, availableParallelism()),
		async score({ row, completion, trace }, signal) {
			const tests = readCodeTests(row, entry.tests);
			if (tests === null) return null;
			const code = codeOfAnswer(completion, trace, entry.language);
			if (code === null) return 0;
			const { passed, total } = await runCodeTests(
				await sandbox(),
				code,
				tests,
				{
					language: entry.language,
					timeoutSeconds: entry.timeoutSeconds,
					memoryMb: entry.memoryMb,
					stopAtFailure: entry.mode === 'all',
				},
				signal,
			);
			if (entry.mode === 'fraction') return passed / total;
			return passed === total ? 1 : 0;
		},
	};
}
