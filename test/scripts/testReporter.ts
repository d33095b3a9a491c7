/**
 * Reporter for node:test: one line per file, failures in full, skipped tests with their reason, and the counts as JSON
 * in the file named by TEST_COUNTS. Used by test.ts, which adds the counts of all phases.
 */
import { basename, relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';
import { writeCounts } from './counts.ts';

export default async function* testReporter(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
	const verbose = process.env.TEST_VERBOSE === '1';
	const counts = { passed: 0, failed: 0, skipped: 0 };
	const soFar = { ...counts };
	const failures: string[] = [];
	const failedFiles = new Set<string>();
	for await (const event of source) {
		if (event.type === 'test:fail') {
			const { name, details, file, line } = event.data;
			if (details.type === 'suite' || isSubtestFailure(details.error)) continue;
			const place = file === undefined ? '' : `${relative(process.cwd(), file)}:${line}`;
			failures.push(`${name} (${place})`);
			if (file !== undefined) failedFiles.add(relative(process.cwd(), file));
			yield `  ✖ ${name} (${place})\n`;
			yield `${indent(errorText(details.error))}\n`;
		} else if (event.type === 'test:pass') {
			const { name, skip, todo, details } = event.data;
			if (details.type === 'suite') continue;
			if (skip !== undefined) yield `  ↷ ${name}: skipped${skip === true ? '' : `, ${skip}`}\n`;
			else if (todo !== undefined) yield `  … ${name}: to do\n`;
			else if (verbose) yield `  ✔ ${name} (${(details.duration_ms / 1000).toFixed(1)} s)\n`;
		} else if (event.type === 'test:summary') {
			const { file, counts: summary, duration_ms } = event.data;
			if (file !== undefined) {
				const failed = failuresOf(summary);
				const skipped = summary.skipped === 0 ? '' : `, ${summary.skipped} skipped`;
				const text = `${basename(file, '.test.ts')}: ${summary.passed} passed${skipped}`;
				yield `${failed > 0 ? '✖' : '✔'} ${text}${failed > 0 ? `, ${failed} failed` : ''} (${(duration_ms / 1000).toFixed(1)} s)\n`;
				// A runner that is ended because it hangs leaves the counts of what it got through.
				soFar.passed += summary.passed;
				soFar.failed += failed;
				soFar.skipped += summary.skipped;
				writeCounts({ ...soFar, failures, failedFiles: [...failedFiles] });
			} else {
				counts.passed = summary.passed;
				counts.failed = failuresOf(summary);
				counts.skipped = summary.skipped;
			}
		} else if (event.type === 'test:stderr' && verbose) {
			yield `${indent(event.data.message.trimEnd())}\n`;
		}
	}
	writeCounts({ ...counts, failures, failedFiles: [...failedFiles] });
}

/** Failed, cancelled and timed-out tests. */
function failuresOf(counts: { tests: number; passed: number; skipped: number; todo: number }): number {
	return counts.tests - counts.passed - counts.skipped - counts.todo;
}

/** A test that failed only because one of its subtests did; that one is reported itself. */
function isSubtestFailure(error: Error | undefined): boolean {
	return (error as { failureType?: string } | undefined)?.failureType === 'subtestsFailed';
}

function errorText(error: Error | undefined): string {
	const cause = (error as { cause?: unknown } | undefined)?.cause ?? error;
	const text = cause instanceof Error ? (cause.stack ?? cause.message) : inspect(cause);
	// Frames of the test runner itself tell nothing.
	return text.replaceAll(/\n\s+at .*\bnode:internal\b.*/g, '');
}

function indent(text: string): string {
	return text.replaceAll(/^/gm, '      ');
}
