/** node:test reporter that runs inside a worker and sends each test's outcome to the runner under its full name. */
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';
import { finishFile } from './fileRun.ts';
import type { Outcome, TestFailure, WorkerMessage } from './outcome.ts';

const send = (message: WorkerMessage) => process.send?.(message);

export default async function* workerReporter(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
	/** Names of the current test and the tests around it, by depth. The file is at depth 0. */
	const names: string[] = [];
	/** Outcomes whose filter name may still change to that of an enclosing test. */
	let pending: Outcome[] = [];
	for await (const event of source) {
		if (event.type === 'test:start') {
			names.length = event.data.nesting;
			names.push(event.data.name);
		} else if (event.type === 'test:pass' || event.type === 'test:fail') {
			const { nesting, name, details } = event.data;
			const path = [...names.slice(1, nesting), name];
			// A name can select tests in suites, but not subtests of a test.
			if (details.type !== 'suite') {
				const inside = `${path.join(' ')} `;
				pending = pending.map((item) =>
					item.filter?.startsWith(inside) ? { ...item, filter: inside.trimEnd() } : item,
				);
			}
			const outcome = outcomeOf(event, path);
			if (outcome !== undefined) pending.push(outcome);
			if (nesting > 1) continue;
			for (const ready of pending.splice(0)) send({ type: 'outcome', outcome: ready });
			if (nesting > 0) continue;
			await reportEnd();
		}
	}
}

/** Reports that the file ended, and what it left open. */
export async function reportEnd(): Promise<void> {
	const { usage, leak } = await finishFile();
	if (leak !== undefined) send({ type: 'outcome', outcome: leak });
	send({ type: 'file', usage, memory: process.memoryUsage.rss() });
}

type Result = Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>;

/** Returns undefined for anything that is counted through the tests inside it. */
function outcomeOf(event: Result, path: readonly string[]): Outcome | undefined {
	const { nesting, skip, todo, details } = event.data;
	const isFile = nesting === 0;
	const base = {
		name: isFile ? 'the file' : path.join(' > '),
		...(isFile ? {} : { filter: path.join(' ') }),
		milliseconds: details.duration_ms,
	};
	if (event.type === 'test:fail') {
		const error = event.data.details.error as Error & { failureType?: string };
		if (error.failureType === 'subtestsFailed') return undefined;
		return { ...base, status: 'failed', failure: failureOf(error) };
	}
	const left = skip ?? todo;
	// If an entire suite is skipped, its tests are not reported.
	if (isFile || (details.type === 'suite' && (left === undefined || left === false))) return undefined;
	if (left === undefined || left === false) return { ...base, status: 'passed' };
	return { ...base, status: 'skipped', ...(typeof left === 'string' && left !== '' ? { reason: left } : {}) };
}

function failureOf(error: Error & { cause?: unknown; failureType?: string }): TestFailure {
	const cause = error.cause ?? error;
	if (!(cause instanceof Error)) return { message: typeof cause === 'string' ? cause : inspect(cause), stack: '' };
	// Remove frames from Node's test runner, which say nothing about the failure.
	const stack = (cause.stack ?? '').replaceAll(/\n\s+at [^\n]*\bnode:(?:internal|async_hooks)\b[^\n]*/g, '');
	return { message: cause.message, stack: withCauses(stack, cause) };
}

/** Returns the stack followed by the error's cause. */
function withCauses(stack: string, error: Error): string {
	const { cause } = error;
	if (cause === undefined) return stack;
	const text = cause instanceof Error ? (cause.stack ?? cause.message) : inspect(cause);
	return `${stack}\nCaused by: ${text}`;
}
