/**
 * `npm test [-- PHASE... | FILE...] [options]`: runs all of the project's checks at their smallest sizes, from types to
 * clicks in a real workbench. The last line is `N passed, N failed[, N skipped]`. The exit status is 1 on failure and
 * 130 if interrupted. docs/testing.md describes the levels.
 */
import { availableParallelism } from 'node:os';
import { relative, resolve } from 'node:path';
import { changedFiles, reachOf } from '../runner/changed.ts';
import { minSeconds, readDurations } from '../runner/durations.ts';
import { type RunOptions, runTests } from '../runner/run.ts';
import { checks, findSuites, type Suite } from '../runner/suites.ts';
import { root } from './paths.ts';
import { readArguments, refuse } from './readArguments.ts';

const usage = `npm test [-- PHASE... | FILE...] [options]

  --changed [BASE]  Types, lint, and the tests that changes since BASE (default: HEAD) can affect.
  --name PATTERN    Only tests whose full name matches.
  --bail            Stop at the first failure.
  --times           Measure CPU time; writes test/artifacts/times.md.
  --report FILE     Write the outcomes as JSON.
  --built           Use the existing dist/.`;

/** Time budget per core for a run with --changed, in addition to types, lint and the build. */
const changedSeconds = 90;

const all = findSuites();
const phases = [...checks, ...all.map(({ name }) => name)];
const { values, positionals } = readArguments(
	{
		allowPositionals: true,
		options: {
			changed: { type: 'boolean', default: false },
			name: { type: 'string' },
			bail: { type: 'boolean', default: false },
			times: { type: 'boolean', default: false },
			report: { type: 'string' },
			built: { type: 'boolean', default: false },
		},
	},
	usage,
);

/** Returns what the arguments name: whole phases and individual files. */
function choose(names: readonly string[]): Pick<RunOptions, 'checks' | 'suites'> {
	if (names.length === 0) return { checks, suites: all };
	const files = new Set<string>();
	for (const name of names) {
		if (phases.includes(name)) continue;
		const file = relative(root, resolve(process.env.INIT_CWD ?? root, name)).replaceAll('\\', '/');
		if (!all.some((suite) => suite.files.includes(file)))
			refuse(`${name} is neither a test file nor a phase; the phases are ${phases.join(', ')}.`, usage);
		files.add(file);
	}
	return {
		checks: checks.filter((name) => names.includes(name)),
		suites: all.map((suite) => (names.includes(suite.name) ? suite : withFiles(suite, files))),
	};
}

function withFiles(suite: Suite, files: ReadonlySet<string>): Suite {
	return { ...suite, files: suite.files.filter((file) => files.has(file)) };
}

/** Returns the tests affected by changes since a commit. */
function chooseChanged(base: string): Pick<RunOptions, 'checks' | 'suites'> {
	let changed: string[];
	try {
		changed = changedFiles(base);
	} catch (error) {
		refuse(`Cannot compare with ${base}: ${String((error as { stderr?: unknown }).stderr ?? error).trim()}`, usage);
	}
	console.log(`${changed.length} files differ from ${base}${changed.length === 0 ? '' : `: ${listed(changed)}`}`);
	const durations = readDurations();
	const { leftOut, ...chosen } = reachOf(changed, all, {
		secondsOf: (file, { seconds }) => durations.get(file) ?? Math.min(seconds, minSeconds),
		budgetSeconds: changedSeconds * availableParallelism(),
	});
	if (leftOut.length > 0)
		console.log(
			`${leftOut.length} more test files run programs that share the changed code; npm test runs them all: ${listed(leftOut)}`,
		);
	return chosen;
}

function listed(files: readonly string[]): string {
	return files.length <= 5 ? files.join(', ') : `${files.slice(0, 5).join(', ')} and ${files.length - 5} more`;
}

if (values.changed && positionals.length > 1) refuse('--changed takes one commit.', usage);
const chosen = values.changed ? chooseChanged(positionals[0] ?? 'HEAD') : choose(positionals);
process.exitCode = await runTests({
	...chosen,
	bail: values.bail,
	built: values.built,
	times: values.times,
	keepDurations: values.times && positionals.length === 0,
	...(values.name === undefined ? {} : { namePattern: values.name }),
	...(values.report === undefined ? {} : { report: resolve(process.env.INIT_CWD ?? root, values.report) }),
});
