import { availableParallelism } from 'node:os';
import type { RewardEntry } from '../protocol/recipeKeys/builtInRewards.ts';
import type { BuiltIn } from './builtInReward.ts';
import { codeOfAnswer } from './codeTestsAnswer.ts';
import { readCodeTests } from './codeTestsCases.ts';
import { codeTestsAtOnce, runCodeTests } from './codeTestsRun.ts';
import { findSandbox } from './sandbox/findSandbox.ts';
import type { Sandbox } from './sandbox/sandbox.ts';

/**
 * Creates a reward that runs a row's tests on the code in the answer. The value is 1 or 0, or the fraction of tests
 * that pass; null if the row has no tests; 0 if the answer contains no code. Without a sandbox, every row gets an error
 * that explains the fix, rather than 0.
 *
 * The code's own claims and exit code are not trusted: outputs and values are compared outside the sandbox in which the
 * code runs.
 */
export function createCodeTests(entry: RewardEntry<'code-tests'>, find: () => Promise<Sandbox> = findSandbox): BuiltIn {
	let found: Promise<Sandbox> | undefined;
	const sandbox = () => {
		found ??= find().catch((error: unknown) => {
			// A sandbox might be installed in the meantime, so search again next time.
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
