/** Reports suites that mocha runs inside an extension host as node:test tests: each has its own test and failure. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../scripts/paths.ts';
import type { IntegrationResults } from './run.ts';

export const suitesProgram = join(root, 'dist/test/integration.cjs');
export const suitesTimeoutSeconds = 540;

/**
 * Runs the suites and declares a test for each of their tests. Call this inside `describe`.
 * @param run starts a host with the suites, which write their results to a file, and resolves when they have finished
 */
export async function declareSuites(
	run: (results: string, workspace: string, env: Record<string, string>) => Promise<void>,
): Promise<void> {
	const folder = mkdtempSync(join(tmpdir(), 'rl-suites-'));
	const workspace = join(folder, 'workspace');
	mkdirSync(workspace);
	const path = join(folder, 'results.json');
	// Failures are reported with the name of the enclosing suite, which mocha does not know.
	const pattern = process.env.TEST_NAME_PATTERN?.replace(/^(browser workbench|desktop VS Code) /, '');
	try {
		await run(path, workspace, {
			REASONING_LAB_TEST_RESULTS: path,
			...(pattern === undefined ? {} : { REASONING_LAB_TEST_PATTERN: pattern }),
		});
		const { tests } = JSON.parse(readFileSync(path, 'utf8')) as IntegrationResults;
		for (const { title, milliseconds, status, error } of tests) {
			test(title, { skip: status === 'skipped' }, (context) => {
				context.diagnostic(`${milliseconds} ms`);
				if (status === 'failed') throw hostError(error);
			});
		}
		assert.ok(tests.length > 0, 'the suites ran no tests');
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

/** Returns the error with its stack from the host. */
function hostError(text: string | undefined): Error {
	const error = new Error(text?.split('\n')[0] ?? 'It failed without an error');
	error.stack = text ?? error.message;
	return error;
}
