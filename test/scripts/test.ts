/**
 * `npm test [-- PHASE...]`: every check of the project on small configurations, from typecheck to a person's clicks in a
 * real workbench. The last line is `N passed, N failed[, N skipped]` over all of it; the exit status is 1 on a failure.
 */
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { findBubblewrap } from './bubblewrap.ts';
import { type Counts, readCounts, summary } from './counts.ts';
import { artifacts, cache, node, root } from './paths.ts';
import { endProcessesOf, run, tail } from './process.ts';
import { findTestPython, pythonEnvironment } from './pythonEnvironment.ts';
import { browserEnvironment, findChromium } from './workbench/chromium.ts';

interface Phase {
	readonly name: string;
	readonly command: readonly [string, ...string[]];
	/** A check that passes or fails as one; its output is shown only when it fails. */
	readonly single?: boolean;
	/** Phases without which this one makes no sense. */
	readonly needs?: readonly string[];
	readonly timeoutSeconds: number;
	/**
	 * Parts that are run one by one, each with the time of the phase. One that fails is tried a second time, and says so: a
	 * click can miss where a busy machine lets a list or a picker move under it, and a cluster can be slow to come up.
	 */
	readonly parts?: readonly Part[];
	/**
	 * Files of it that fail are tried a second time, one after the other, and that is said: hundreds of files that start
	 * processes two at a time can be too much for a slow machine. None when many fail.
	 */
	readonly again?: (files: readonly string[]) => readonly [string, ...string[]];
	/** It runs while the phases behind it do, and is told at the end: it keeps one core busy, and so do those. */
	readonly beside?: boolean;
}

interface Part {
	readonly name: string;
	readonly command: readonly [string, ...string[]];
}

/** More than so many files that fail are no accident. */
const mostAgain = 6;

const tool = (name: string) => join(root, 'node_modules/.bin', name);

const phases: readonly Phase[] = [
	{ name: 'typecheck', command: [tool('tsc'), '-b'], single: true, timeoutSeconds: 180 },
	{ name: 'lint', command: [tool('biome'), 'check', '--diagnostic-level=warn'], single: true, timeoutSeconds: 120 },
	{ name: 'build', command: [node, 'esbuild.mjs', '--tests'], single: true, timeoutSeconds: 120 },
	{
		name: 'unit',
		command: nodeTests('unit', availableParallelism(), 'test/unit/**/*.test.ts', 'test/golden/**/*.test.ts'),
		again: (files) => nodeTests('unit-again', 1, ...files),
		timeoutSeconds: 2400,
	},
	{
		name: 'python',
		command: nodeTests('python', 1, 'test/python/*.test.ts'),
		timeoutSeconds: 600,
	},
	{
		name: 'trainer',
		command: patient(nodeTests('trainer', 1, 'test/trainer/*.test.ts')),
		parts: filesOf('trainer'),
		beside: true,
		needs: ['build'],
		timeoutSeconds: 900,
	},
	{
		name: 'integration',
		command: [node, 'test/scripts/integration.ts'],
		parts: [{ name: 'integration', command: [node, 'test/scripts/integration.ts'] }],
		needs: ['build'],
		timeoutSeconds: 900,
	},
	{
		name: 'e2e',
		command: nodeTests('e2e', 1, 'test/e2e/**/*.test.ts'),
		parts: filesOf('e2e'),
		needs: ['build'],
		timeoutSeconds: 900,
	},
];

/** A part for each file of tests. */
function filesOf(phase: string): Part[] {
	return readdirSync(join(root, 'test', phase))
		.filter((file) => file.endsWith('.test.ts'))
		.map((file) => file.slice(0, -'.test.ts'.length))
		.map((name) => ({ name, command: patient(nodeTests(`${phase}-${name}`, 1, `test/${phase}/${name}.test.ts`)) }));
}

/** torch and Ray take their time on a busy machine. Less than the time of the phase: so it is said which test hung. */
function patient([program, ...args]: [string, ...string[]]): [string, ...string[]] {
	return [program, ...args.map((argument) => argument.replace(/^--test-timeout=.*/, '--test-timeout=860000'))];
}

/** @param concurrency files that run at once */
function nodeTests(name: string, concurrency: number, ...files: string[]): [string, ...string[]] {
	const reporters = [
		'./test/scripts/testReporter.ts',
		'stdout',
		'spec',
		relative(root, join(artifacts, `${name}.log`)),
	];
	return [
		node,
		'--test',
		// Of each test, and of each file: one that hangs does not take the others with it.
		'--test-timeout=300000',
		`--test-concurrency=${concurrency}`,
		`--test-reporter=${reporters[0]}`,
		`--test-reporter-destination=${reporters[1]}`,
		`--test-reporter=${reporters[2]}`,
		`--test-reporter-destination=${reporters[3]}`,
		...files,
	];
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !phases.some((phase) => phase.name === name));
if (unknown.length > 0) {
	console.error(`Unknown phase ${unknown.join(', ')}: the phases are ${phases.map(({ name }) => name).join(', ')}.`);
	process.exit(2);
}
/** A phase brings along what it needs. */
const chosen = phases.filter(
	({ name }) =>
		wanted.length === 0 ||
		wanted.includes(name) ||
		phases.some((phase) => wanted.includes(phase.name) && phase.needs?.includes(name)),
);

if (wanted.length === 0) rmSync(artifacts, { recursive: true, force: true });
mkdirSync(artifacts, { recursive: true });
/** Temporary files of all phases; short, because sockets lie below it and their paths are limited to about 104 bytes. */
const scratch = mkdtempSync(join(tmpdir(), 't-'));
const total: Counts = { passed: 0, failed: 0, skipped: 0 };
const timings: string[] = [];
const failed = new Set<string>();
/** Said again at the end: what failed may stand thousands of lines above. */
const failures: string[] = [];

/** Each process that runs is ended by its own listener; nothing else is begun. */
let interrupted = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => (interrupted = true));

let browser: Record<string, string> = {};
if (chosen.some(({ name }) => ['unit', 'integration', 'e2e'].includes(name))) {
	const found = await findChromium(console.log);
	if ('missing' in found) console.log(`Tests in a browser are skipped: ${found.missing}.`);
	browser = browserEnvironment(found);
}

let python: Record<string, string> = {};
if (chosen.some(({ name }) => ['python', 'trainer', 'integration', 'e2e'].includes(name))) {
	const found = await findTestPython(console.log);
	if ('missing' in found) console.log(`Tests with other trainers are skipped: ${found.missing}.`);
	python = pythonEnvironment(found);
}

if (chosen.some(({ name }) => ['unit', 'integration'].includes(name))) {
	const missing = await findBubblewrap(console.log);
	if (missing !== null) console.log(`Tests of the sandbox are skipped: ${missing}.`);
}

/** Where the output of a phase goes: this terminal, or what is told when it is over. */
interface Terminal {
	say(line: string): void;
	/** File that its processes write to; undefined: this terminal. */
	readonly log?: string;
}

const terminal: Terminal = { say: (line) => console.log(line) };
const aside: { readonly log: string; readonly ended: Promise<void> }[] = [];

for (const phase of chosen) {
	if (interrupted) break;
	const missing = phase.needs?.find((name) => failed.has(name));
	if (missing !== undefined) {
		console.log(`\n${phase.name}: not run, because ${missing} failed`);
		total.failed++;
		continue;
	}
	if (phase.beside && phase !== chosen.at(-1)) {
		const log = join(scratch, `${phase.name}.txt`);
		console.log(`\n${phase.name}: runs beside what follows, and is told at the end`);
		aside.push({ log, ended: runAndCount(phase, { log, say: (line) => appendFileSync(log, `${line}\n`) }) });
	} else await runAndCount(phase, terminal);
}
for (const { log, ended } of aside) {
	await ended;
	console.log(readFileSync(log, 'utf8').trimEnd());
}

async function runAndCount(phase: Phase, to: Terminal): Promise<void> {
	if (!phase.single) to.say(`\n${phase.name}`);
	const started = performance.now();
	let counts = phase.parts === undefined ? await runPhase(phase, to) : await runParts(phase, phase.parts, to);
	if (phase.again !== undefined) counts = await tryAgain(phase, phase.again, counts, to);
	const seconds = ((performance.now() - started) / 1000).toFixed(1);
	timings.push(`${phase.name} ${seconds} s`);
	if (phase.single) to.say(`${counts.failed > 0 ? '✖' : '✔'} ${phase.name} (${seconds} s)`);
	else to.say(`${phase.name}: ${summary(counts)} (${seconds} s)`);
	total.passed += counts.passed;
	total.failed += counts.failed;
	total.skipped += counts.skipped;
	if (counts.failed > 0) {
		failed.add(phase.name);
		const names = counts.failures ?? [];
		failures.push(...(names.length > 0 ? names.map((name) => `${phase.name}: ${name}`) : [phase.name]));
	}
}

async function tryAgain(
	{ name, timeoutSeconds }: Phase,
	again: NonNullable<Phase['again']>,
	counts: Counts,
	to: Terminal,
): Promise<Counts> {
	const files = counts.failedFiles ?? [];
	if (interrupted || counts.failed === 0 || files.length === 0 || files.length > mostAgain) return counts;
	to.say(`↻ ${files.join(', ')} failed and ${files.length === 1 ? 'is' : 'are'} tried a second time`);
	const second = await runPhase({ name: `${name}-again`, command: again(files), timeoutSeconds }, to, true);
	const failed = Math.min(second.failed, counts.failed);
	return {
		passed: counts.passed + counts.failed - failed,
		failed,
		skipped: counts.skipped,
		failures: second.failures ?? [],
	};
}

/** One after the other: a workbench with its browser keeps two cores busy, and two of them take twice as long. */
async function runParts(phase: Phase, parts: readonly Part[], to: Terminal): Promise<Counts> {
	const sum: Counts = { passed: 0, failed: 0, skipped: 0 };
	const names: string[] = [];
	for (const part of parts) {
		if (interrupted) break;
		const counts = await runPart(phase, part, to);
		sum.passed += counts.passed;
		sum.failed += counts.failed;
		sum.skipped += counts.skipped;
		names.push(...(counts.failures ?? []));
	}
	return { ...sum, failures: names };
}

async function runPart(phase: Phase, { name, command }: Part, to: Terminal): Promise<Counts> {
	const part = { name: `${phase.name}-${name}`, command, timeoutSeconds: phase.timeoutSeconds };
	const counts = await runPhase(part, to, phase.name === 'e2e');
	if (interrupted || counts.failed === 0) return counts;
	to.say(`↻ ${name} failed and is tried a second time`);
	return runPhase(part, to, true);
}

async function runPhase(
	{ name, command, single, timeoutSeconds }: Phase,
	to: Terminal,
	verbose = false,
): Promise<Counts> {
	const [program, ...args] = command;
	const path = join(scratch, `${name}.json`);
	const log = join(artifacts, `${name}.log`);
	rmSync(path, { force: true });
	if (single) rmSync(log, { force: true });
	const output = single ? log : to.log;
	const code = await run(program, args, {
		timeoutSeconds,
		env: {
			...browser,
			...python,
			TMPDIR: scratch,
			TEST_COUNTS: path,
			TEST_VERBOSE: verbose ? '1' : undefined,
			// Hundreds of processes load the same few files: compiled once, they spend a third less of the processor.
			NODE_COMPILE_CACHE: join(cache, 'compiled'),
		},
		...(output === undefined ? {} : { log: output }),
	});
	if (code === 124) to.say(`✖ ${name} did not end within ${timeoutSeconds} s`);
	if (single) {
		if (code !== 0) to.say(tail(log, 80));
		return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0 };
	}
	const counts = readCounts(path) ?? { passed: 0, failed: 0, skipped: 0 };
	// A runner that died, or found nothing to run, is a failure too.
	const broken = code !== 0 && counts.failed === 0;
	const empty = counts.passed + counts.failed + counts.skipped === 0;
	if (broken || empty) {
		if (code !== 124) to.say(`✖ ${name} ${empty ? 'ran no test' : 'failed'} (exit status ${code})`);
		counts.failed++;
	}
	return counts;
}

const left = await endProcessesOf(scratch);
if (left.length > 0) {
	console.log(`✖ processes that a test left behind were ended:\n${left.map((line) => `      ${line}`).join('\n')}`);
	total.failed++;
}
rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
if (failures.length > 0) console.log(`\nFailed:\n${failures.map((name) => `  ✖ ${name}`).join('\n')}`);
if (interrupted) console.log('\nInterrupted: what follows was not run.');
console.log(`\n${timings.join(', ')}`);
console.log(`Logs and screenshots: ${relative(root, artifacts)}/`);
console.log(summary(total));
process.exit(interrupted ? 130 : total.failed > 0 ? 1 : 0);
