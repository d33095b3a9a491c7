/** Reports suites that mocha runs inside an extension host as node:test tests: each has its own test and failure. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
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

/** Returns the error with its message and stack from the host. */
function hostError(text = 'It failed without an error'): Error {
	const error = new Error(text.split(/\n\s+at /)[0]);
	error.stack = text.replaceAll(
		/[^\s()]*?\b(dist\/test\/suites\/[\w.-]+\.cjs):(\d+):(\d+)/g,
		(frame, bundle, line, column) => {
			return sourceOf(bundle, Number(line), Number(column)) ?? frame;
		},
	);
	return error;
}

/** Returns the source location of a frame in a bundle, or null if its source map has none. */
function sourceOf(bundle: string, line: number, column: number): string | null {
	const path = join(root, `${bundle}.map`);
	try {
		const found = new SourceMap(JSON.parse(readFileSync(path, 'utf8'))).findEntry(line - 1, column - 1);
		if (!('originalSource' in found)) return null;
		return `${resolve(dirname(path), found.originalSource)}:${found.originalLine + 1}:${found.originalColumn + 1}`;
	} catch {
		return null;
	}
}
