import { Failure } from '../base/failure.ts';
import type { CodeLanguage } from './codeTestsAnswer.ts';
import type { CodeTests } from './codeTestsCases.ts';
import { tolerances } from './codeTestsComparison.ts';
import { givenNames } from './codeTestsNames.ts';
import { sameOutput } from './codeTestsOutput.ts';
import { readHarness } from './sandbox/harnessFiles.ts';
import {
	defaultSandboxLimits,
	type Sandbox,
	type SandboxLimits,
	type SandboxOutput,
	type SandboxProgram,
} from './sandbox/sandbox.ts';
import { serveAnswer } from './sandbox/serveAnswer.ts';

export interface CodeTestOptions {
	readonly language: CodeLanguage;
	/** Wall-clock limit per test. All of a row's tests together may take twice as long. */
	readonly timeoutSeconds: number;
	readonly memoryMb: number;
	/** Whether to stop at the first failure because the remaining results do not matter. */
	readonly stopAtFailure: boolean;
}

export interface CodeVerdict {
	readonly passed: number;
	/** Number of tests, at least 1. In tests with several assertions, each assertion counts separately. */
	readonly total: number;
	/** Reason for the first failure. */
	readonly why: string | null;
}

/** Maximum number of tests to run per row. Others are skipped. */
export const maxTests = 64;
/** Maximum number of times an answer's process is restarted after exiting during a test. */
const maxRestarts = 4;

interface Language {
	readonly program: SandboxProgram;
	readonly answer: string;
	/** Program that runs an answer with the provided names, or null if the language does not support that. */
	readonly runner: string | null;
	readonly server: string;
	readonly checker: string;
	/** Additional files that the checker requires. */
	readonly checkerParts: readonly string[];
	readonly flags: readonly string[];
	/** Maximum number of processes and threads: those of the interpreter plus a few more. */
	readonly tasks: number;
	/** Memory used by the interpreter itself, in MB, in addition to the program's memory. */
	readonly overheadMb: number;
}

const languages: Readonly<Record<CodeLanguage, Language>> = {
	python: {
		program: 'python',
		answer: 'answer.py',
		runner: 'answer_program.py',
		server: 'answer_server.py',
		checker: 'test_checker.py',
		checkerParts: [],
		// Use neither user packages nor cached bytecode.
		flags: ['-s', '-B'],
		tasks: 10,
		overheadMb: 16,
	},
	javascript: {
		program: 'node',
		answer: 'answer.js',
		runner: null,
		server: 'answer_server.cjs',
		checker: 'test_checker.cjs',
		checkerParts: ['test_runner.cjs'],
		flags: ['--disable-warning=ExperimentalWarning'],
		tasks: 16,
		overheadMb: 96,
	},
};

function limitsOf(language: Language, options: CodeTestOptions, seconds: number): Partial<SandboxLimits> {
	const memoryMb = options.memoryMb + language.overheadMb;
	return {
		wallMs: seconds * 1000,
		cpuSeconds: Math.ceil(seconds),
		memoryMb,
		...(language.program === 'python' ? { addressSpaceMb: memoryMb + 128 } : {}),
		processes: language.tasks,
	};
}

async function harnessFiles(names: readonly string[]): Promise<Readonly<Record<string, string>>> {
	return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await readHarness(name)] as const)));
}

/** Returns the additional files for an answer that uses provided names. */
async function givenFiles({ runner }: Language, given: string | null): Promise<Readonly<Record<string, string>>> {
	if (runner === null || given === null) return {};
	return { 'given.py': given, ...(await harnessFiles([runner, 'given_names.py'])) };
}

/** Returns how many rows can run concurrently while staying well below the scoring process's limits. */
export function codeTestsAtOnce(memoryMb: number, processors: number): number {
	return Math.max(1, Math.min(3, processors, Math.floor(1500 / (memoryMb + 100))));
}

/**
 * Runs a row's tests. Fails with `unavailable` if the sandbox cannot start, `cancelled` if aborted, and `invalid` if
 * the tests have an unsupported format. Anything that the code does results in a verdict.
 */
export async function runCodeTests(
	sandbox: Sandbox,
	code: string,
	tests: CodeTests,
	options: CodeTestOptions,
	signal?: AbortSignal,
): Promise<CodeVerdict> {
	const language = languages[options.language];
	const missing = sandbox.missing(language.program);
	if (missing !== null) throw new Failure('unavailable', `Cannot run code tests: ${missing}`, 'Install it.');
	if (tests.kind === 'streams') return runStreams(sandbox, code, tests, language, options, signal);
	return runChecker(sandbox, code, tests, language, options, signal);
}

/** Runs stdin/stdout tests. Compares the output outside the sandbox, so the code never sees the expected output. */
async function runStreams(
	sandbox: Sandbox,
	code: string,
	{ cases, benchmark }: Extract<CodeTests, { kind: 'streams' }>,
	language: Language,
	options: CodeTestOptions,
	signal: AbortSignal | undefined,
): Promise<CodeVerdict> {
	const used = cases.slice(0, maxTests);
	const given = await givenFiles(language, givenNames[benchmark]);
	const program = language.runner !== null && language.runner in given ? language.runner : language.answer;
	const deadline = performance.now() + options.timeoutSeconds * 2000;
	let passed = 0;
	let why: string | null = null;
	for (const { input, output } of used) {
		const seconds = Math.min(options.timeoutSeconds, (deadline - performance.now()) / 1000);
		if (seconds <= 0) {
			why ??= 'the time limit was reached';
			break;
		}
		const result = await sandbox.run(
			{
				program: language.program,
				args: [...language.flags, program],
				files: { ...given, [language.answer]: code },
				stdin: input,
				limits: limitsOf(language, options, seconds),
			},
			signal,
		);
		// A program that exits with an error counts as failed even if its output is correct.
		if (result.end === 'exited' && result.status === 0 && sameOutput(result.stdout, output, tolerances[benchmark]))
			passed++;
		else {
			why ??= whyNot(result);
			if (options.stopAtFailure) break;
		}
	}
	return { passed, total: used.length, why };
}

const endings: Readonly<Record<string, string>> = {
	signal: 'the program was killed by a signal',
	wall: 'the program timed out',
	cpu: 'the program timed out',
	memory: 'the program exceeded the memory limit',
	processes: 'the program started too many processes',
	output: 'the program produced too much output',
};

function whyNot({ end, status, stderr }: SandboxOutput): string {
	if (end !== 'exited') return endings[end] ?? 'the program was killed';
	return status === 0 ? 'the output differs from the expected output' : lastLine(stderr);
}

const lastLine = (text: string) => text.trim().split('\n').at(-1)?.slice(0, 300) || 'the program failed';

/** Formats a prompt to be placed before the answer, as in HumanEval and LeetCodeDataset. */
const givenPrompt = (prompt: string | null) => (prompt === null ? null : `\n\n${prompt}`);

/** Runs the tests and the answer in separate sandboxes that exchange only data. */
async function runChecker(
	sandbox: Sandbox,
	code: string,
	tests: Exclude<CodeTests, { kind: 'streams' }>,
	language: Language,
	options: CodeTestOptions,
	signal: AbortSignal | undefined,
): Promise<CodeVerdict> {
	const [server, checkers, given] = await Promise.all([
		readHarness(language.server),
		harnessFiles([language.checker, ...language.checkerParts]),
		givenFiles(language, tests.kind === 'calls' ? givenNames[tests.benchmark] : givenPrompt(tests.prompt)),
	]);
	const count = Math.min(maxTests, tests.kind === 'calls' ? tests.count : tests.tests.length);
	const deadline = performance.now() + options.timeoutSeconds * 2000;
	let passed = 0;
	let total = 0;
	let why: string | null = null;
	let next = 0;
	for (let start = 0; start <= maxRestarts && next < count; start++) {
		const seconds = (deadline - performance.now()) / 1000;
		if (seconds <= 0) break;
		const spec = {
			...(tests.kind === 'calls'
				? { calls: tests.json, setup: [], tolerance: tolerances[tests.benchmark] }
				: { tests: tests.tests, setup: tests.setup, prompt: tests.prompt }),
			entryPoint: tests.entryPoint,
			skip: next,
			most: maxTests,
		};
		const limits = limitsOf(language, options, seconds);
		const verdicts = await serveAnswer(
			sandbox,
			{
				answer: {
					program: language.program,
					args: [...language.flags, language.server],
					files: { ...given, [language.answer]: code, [language.server]: server },
					limits: { ...limits, outputBytes: 32 << 20 },
				},
				checker: {
					program: language.program,
					args: [...language.flags, language.checker],
					files: { 'tests.json': JSON.stringify(spec), ...checkers },
					limits: {
						...limits,
						memoryMb: 512,
						addressSpaceMb: defaultSandboxLimits.addressSpaceMb,
						outputBytes: 32 << 20,
					},
				},
				callMs: options.timeoutSeconds * 1000,
				isEnough: ({ passed: right, parts }) => options.stopAtFailure && right < parts,
			},
			signal,
		);
		for (const verdict of verdicts.tests) {
			if (verdict.test !== next || next === count) continue;
			next++;
			passed += verdict.passed;
			total += verdict.parts;
			if (verdict.passed < verdict.parts) why ??= verdicts.why ?? verdict.why;
		}
		if (why !== null && options.stopAtFailure) break;
		if (verdicts.fault !== null) {
			throw new Failure(
				'invalid',
				`Cannot run the tests in this row: ${verdicts.fault}.`,
				'Fix the tests, or remove the row.',
			);
		}
		if (verdicts.load !== null) {
			why ??= verdicts.why ?? verdicts.load;
			break;
		}
		// No progress was made, so a restart would fail in the same way.
		if (verdicts.tests.length === 0) {
			why ??= verdicts.why ?? 'the tests could not be run';
			break;
		}
	}
	// Each test that did not run counts as one failure.
	return { passed, total: total + (count - next), why: next < count ? (why ?? 'the time limit was reached') : why };
}
