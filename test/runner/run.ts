/** Runs checks and test files with the resources they need, prints progress, and cleans up. */
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { artifacts, cache, root } from '../scripts/paths.ts';
import { ProcessFamily, run, tail } from '../scripts/process.ts';
import { commands } from './commands.ts';
import { type Durations, readDurations, writeDurations } from './durations.ts';
import { failureText } from './failure.ts';
import { idleCoreMeter } from './idleCores.ts';
import { Meter } from './meter.ts';
import { type Counts, count, type Outcome, summary } from './outcome.ts';
import { WorkerPool } from './pool.ts';
import { durationText, Progress, type ProgressItem } from './progress.ts';
import { pathToPython } from './pythonPath.ts';
import { preparations, type ResourceName, Resources } from './resources.ts';
import { schedule, type Task } from './scheduler.ts';
import { type CheckName, checks, type Requirement, type Suite } from './suites.ts';
import { type TimesRow, timesText } from './times.ts';

export interface RunOptions {
	readonly checks: readonly CheckName[];
	readonly suites: readonly Suite[];
	/** Runs only tests whose full name matches this regular expression. */
	readonly namePattern?: string;
	/** Whether to stop starting tests after the first failure. */
	readonly bail?: boolean;
	/** Whether to measure CPU time and write a table of it. */
	readonly times?: boolean;
	/** Whether to store the measured durations in the source tree, to order later runs. */
	readonly keepDurations?: boolean;
	/** Whether to use the existing bundles in dist/. */
	readonly built?: boolean;
	/** File to write outcomes to, as JSON. */
	readonly report?: string;
	/** Number of cores. Default: all of the machine's. */
	readonly cores?: number;
}

/** Outcomes of a test file, or of a check, which counts as one test. */
export interface FileReport {
	readonly phase: string;
	readonly file: string;
	readonly outcomes: readonly Outcome[];
}

/** Number of processor cores that a test file keeps busy. Files wait a third of their time, so three of them share two cores. */
const coresOfFile = 0.66;
/** Number of cores that a preparation step keeps busy: it mostly waits for downloads or finds nothing to do. */
const coresOfPreparation = 0.33;
const checkTimeoutSeconds = 300;
const heartbeatMs = 30_000;
const sameInterruptMs = 500;

/** @returns exit status: 0 if nothing failed, 130 if interrupted */
export async function runTests(options: RunOptions): Promise<number> {
	return await new TestRun(options).run();
}

class TestRun {
	readonly #options: RunOptions;
	readonly #cores: number;
	/** Folder for all temporary files. Short, because it contains sockets, whose paths are limited to about 104 bytes. */
	readonly #scratch = mkdtempSync(join(tmpdir(), 't-'));
	readonly #processes = new ProcessFamily(this.#scratch);
	readonly #path = process.env.PATH === undefined ? {} : { PATH: pathToPython(process.env.PATH) };
	readonly #resources = new Resources((line) => console.log(line), this.#environment());
	readonly #stop = new AbortController();
	readonly #reports: FileReport[] = [];
	readonly #times: TimesRow[] = [];
	readonly #durations: Durations = readDurations();
	readonly #meter: Meter | undefined;
	#pools = new Map<Suite, WorkerPool>();
	#interruptedAt: number | undefined;

	constructor(options: RunOptions) {
		this.#options = options;
		this.#cores = options.cores ?? availableParallelism();
		this.#meter = options.times ? new Meter() : undefined;
	}

	async run(): Promise<number> {
		mkdirSync(artifacts, { recursive: true });
		const logs = join(artifacts, 'logs');
		rmSync(logs, { recursive: true, force: true });
		mkdirSync(logs, { recursive: true });
		const started = performance.now();
		const interrupt = () => {
			// A second signal means "stop immediately", but a terminal and the starting script may both forward the first
			// one.
			if (this.#interruptedAt !== undefined) {
				if (performance.now() - this.#interruptedAt > sameInterruptMs) this.#endAtOnce();
				return;
			}
			this.#interruptedAt = performance.now();
			console.log('\nInterrupted: ending what runs');
			this.#processes.look();
			this.#stop.abort();
			void this.#disposePools();
		};
		for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt);

		const items = new Map<Task, ProgressItem>();
		const tasks = this.#tasks(logs, items);
		const progress = new Progress(items.values(), this.#cores, (line) => console.log(line));
		this.#progress = progress;
		console.log(
			`${this.#fileCount()} files on ${this.#cores} cores, ${durationText(progress.secondsLeft())} (logs: ${relative(root, artifacts)}/)`,
		);
		const heartbeat = setInterval(() => progress.heartbeat(), heartbeatMs);
		await schedule(tasks, {
			cores: this.#cores,
			signal: this.#stop.signal,
			idleCores: idleCoreMeter(),
			onBlocked: (task, by) => {
				if (this.#interrupted) return;
				const item = items.get(task) as ProgressItem;
				progress.end(item, '✖', `not run, because ${by} failed`);
				this.#add(item.phase, item.name, [failed(`Not run, because ${by} failed`)]);
			},
		});
		clearInterval(heartbeat);
		await this.#disposePools();
		const kinds = this.#meter?.secondsByKind();
		const browser = this.#resources.browserPid;
		const browserSeconds = browser === undefined ? undefined : this.#meter?.secondsOf(browser);
		await this.#resources.dispose();
		this.#meter?.stop();
		await this.#cleanUp();
		for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.off(signal, interrupt);

		const seconds = (performance.now() - started) / 1000;
		if (this.#options.times) this.#writeTimes(seconds, kinds ?? new Map(), browserSeconds);
		return this.#summarize(seconds);
	}

	#progress: Progress | undefined;

	get #interrupted(): boolean {
		return this.#interruptedAt !== undefined;
	}

	#fileCount(): number {
		return this.#options.suites.reduce((sum, { files }) => sum + files.length, 0);
	}

	#tasks(logs: string, items: Map<Task, ProgressItem>): Task[] {
		const { suites } = this.#options;
		const required = new Set<Requirement>(this.#options.checks);
		for (const { files, needs } of suites) if (files.length > 0) for (const need of needs) required.add(need);
		for (const name of [...required]) {
			const preparation = name in preparations ? preparations[name as ResourceName] : undefined;
			for (const need of preparation?.needs ?? []) required.add(need);
		}
		if (this.#options.built) required.delete('build');
		const tasks: Task[] = [];
		const add = (task: Task, phase: string, name: string) => {
			tasks.push(task);
			items.set(task, { phase, name, seconds: task.seconds, cores: task.cores });
		};
		for (const name of checks) if (required.has(name)) add(this.#check(name, items), name, '');
		for (const name of Object.keys(preparations) as ResourceName[])
			if (required.has(name)) add(this.#preparation(name, required, items), 'prepare', name);
		for (const suite of suites) {
			const pool = new WorkerPool({
				logs,
				name: suite.name,
				env: () => ({
					...this.#environment(),
					...this.#resources.environment,
					...suite.environment?.(this.#resources),
				}),
				namePattern: this.#options.namePattern,
				filtersTests: suite.filtersTests ?? false,
				showOutput: suite.showOutput ?? false,
			});
			this.#pools.set(suite, pool);
			for (const file of suite.files) add(this.#file(suite, file, pool, items), suite.name, shortName(file));
		}
		return tasks;
	}

	#environment(): Record<string, string> {
		return {
			...this.#path,
			TMPDIR: this.#scratch,
			// Hundreds of processes load the same few files; a shared compile cache saves a third of their CPU time.
			NODE_COMPILE_CACHE: join(cache, 'compiled'),
		};
	}

	#check(name: CheckName, items: Map<Task, ProgressItem>): Task {
		const { command, seconds, env } = commands[name];
		const log = join(artifacts, `${name}.log`);
		const task: Task = {
			id: name,
			needs: [],
			cores: 1,
			seconds: this.#durations.get(name) ?? seconds,
			run: async () => {
				const item = items.get(task) as ProgressItem;
				this.#progress?.start(item);
				rmSync(log, { force: true });
				const start = performance.now();
				const [program, ...args] = command;
				let pid: number | undefined;
				const code = await run(program, args, {
					timeoutSeconds: checkTimeoutSeconds,
					env: { ...this.#environment(), ...env },
					log,
					signal: this.#stop.signal,
					onStart: (id) => {
						pid = id;
					},
				});
				this.#time(name, '', start, pid);
				if (this.#interrupted) return false;
				const why = code === 124 ? `It did not end within ${checkTimeoutSeconds} s` : `Exit status ${code}`;
				this.#progress?.end(item, code === 0 ? '✔' : '✖', code === 0 ? '' : why);
				if (code !== 0) console.log(indent(tail(log, 80)));
				this.#add(name, '', [code === 0 ? passed(name) : failed(checkFailure(why, log))]);
				return code === 0;
			},
		};
		return task;
	}

	#preparation(name: ResourceName, required: ReadonlySet<Requirement>, items: Map<Task, ProgressItem>): Task {
		const { seconds, needs = [], after = [], prepare } = preparations[name];
		const task: Task = {
			id: name,
			needs: [...needs, ...after.filter((other) => required.has(other))],
			cores: coresOfPreparation,
			seconds: this.#durations.get(`prepare ${name}`) ?? seconds,
			run: async () => {
				const item = items.get(task) as ProgressItem;
				this.#progress?.start(item);
				const start = performance.now();
				try {
					await prepare(this.#resources);
				} catch (error) {
					const message = error instanceof Error ? error.message : String(error);
					if (!this.#interrupted) this.#progress?.end(item, '✖', message);
					return false;
				}
				this.#time('prepare', name, start, undefined);
				this.#progress?.end(item, '✔', '');
				return true;
			},
		};
		return task;
	}

	#file(suite: Suite, file: string, pool: WorkerPool, items: Map<Task, ProgressItem>): Task {
		const alone = suite.alone || /^\/\/ @alone /m.test(readFileSync(join(root, file), 'utf8'));
		const task: Task = {
			id: file,
			needs: this.#options.built ? suite.needs.filter((name) => name !== 'build') : suite.needs,
			cores: suite.cores ?? coresOfFile,
			seconds: this.#durations.get(file) ?? suite.seconds,
			run: async () => {
				const item = items.get(task) as ProgressItem;
				this.#progress?.start(item);
				const { outcomes, usage, seconds, output } = await pool.runFile(join(root, file), suite.timeoutSeconds, alone);
				if (this.#interrupted) return false;
				this.#times.push({
					phase: suite.name,
					name: file,
					wall: seconds,
					processor: usage === undefined ? undefined : usage.own + usage.children,
				});
				this.#add(suite.name, file, outcomes);
				const counts = count(outcomes);
				const text = `${counts.passed} passed${counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''}${counts.failed > 0 ? `, ${counts.failed} failed` : ''}`;
				this.#progress?.end(item, counts.failed > 0 ? '✖' : counts.passed > 0 ? '✔' : '↷', text);
				for (const outcome of outcomes) this.#tell(outcome);
				if (counts.failed > 0 && output.trim() !== '') console.log(indent(`Output:\n${lastLines(output, 40)}`));
				return true;
			},
		};
		return task;
	}

	/** Prints failures in full and reasons for skipped tests. The rest is in the log. */
	#tell({ name, status, reason, failure }: Outcome): void {
		if (status === 'skipped') console.log(`  ↷ ${name}: skipped${reason === undefined ? '' : `, ${reason}`}`);
		if (status === 'failed') console.log(`  ✖ ${name}\n${indent(failure?.stack || failure?.message || '')}`);
	}

	#add(phase: string, file: string, outcomes: readonly Outcome[]): void {
		this.#reports.push({ phase, file, outcomes });
		const lines = outcomes.map(
			({ name, status, milliseconds }) => `${status} ${phase} ${file} > ${name} (${milliseconds.toFixed(0)} ms)`,
		);
		appendFileSync(join(artifacts, 'logs/tests.log'), `${lines.join('\n')}\n`);
		if (this.#options.bail && outcomes.some(({ status }) => status === 'failed')) this.#stop.abort();
	}

	#time(phase: string, name: string, start: number, pid: number | undefined): void {
		this.#times.push({
			phase,
			name,
			wall: (performance.now() - start) / 1000,
			processor: pid === undefined ? undefined : this.#meter?.secondsOf(pid),
		});
	}

	#endAtOnce(): never {
		this.#processes.endAtOnce();
		rmSync(this.#scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
		process.exit(130);
	}

	async #disposePools(): Promise<void> {
		await Promise.all([...this.#pools.values()].map((pool) => pool.dispose()));
	}

	/** Kills processes that tests left running, which counts as a failure, and removes all temporary files. */
	async #cleanUp(): Promise<void> {
		const left = await this.#processes.end(this.#interrupted ? 2 : 10);
		if (left.length > 0 && !this.#interrupted) {
			const message = `Processes that tests left behind were ended:\n${left.join('\n')}`;
			console.log(`✖ ${message}`);
			this.#add('end', '', [failed(message)]);
		}
		rmSync(this.#scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
	}

	#writeTimes(seconds: number, kinds: ReadonlyMap<string, number>, browserSeconds: number | undefined): void {
		const { user, system } = process.cpuUsage();
		const text = timesText({
			rows: this.#times,
			kinds,
			browserSeconds,
			runnerSeconds: (user + system) / 1e6,
			wallSeconds: seconds,
		});
		if (this.#options.keepDurations && !this.#interrupted) writeDurations(durationsOf(this.#times));
		const path = join(artifacts, 'times.md');
		writeFileSync(path, text);
		console.log(`\n${text.split('\n## Files')[0]}\nBy file: ${relative(root, path)}`);
	}

	#summarize(seconds: number): number {
		const total: Counts = count(this.#reports.flatMap(({ outcomes }) => outcomes));
		const failures = this.#reports.flatMap(({ phase, file, outcomes }) =>
			outcomes.filter(({ status }) => status === 'failed').map((outcome) => failureText(phase, file, outcome)),
		);
		if (failures.length > 0) console.log(`\nFailed:\n\n${failures.join('\n\n')}`);
		if (this.#options.report !== undefined)
			writeFileSync(this.#options.report, JSON.stringify({ interrupted: this.#interrupted, files: this.#reports }));
		if (this.#interrupted) console.log('\nInterrupted: the rest was not run.');
		else if (this.#stop.signal.aborted) console.log('\nStopped at the first failure: the rest was not run.');
		if (!this.#interrupted && total.passed + total.failed + total.skipped === 0) {
			console.log('\nNo test matches.');
			total.failed++;
		}
		console.log(
			`\nLogs and screenshots: ${relative(root, artifacts)}/ (${durationText(seconds).replace('about ', '')})`,
		);
		console.log(summary(total));
		return this.#interrupted ? 130 : total.failed > 0 ? 1 : 0;
	}
}

/** Returns a file's path without the folders that its phase implies. */
function shortName(file: string): string {
	return file.replace(/^test\/(unit\/|golden\/)?/, '').replace(/\.test\.ts$/, '');
}

/** Returns the durations in seconds, keyed by the names that tasks use to look them up. */
function durationsOf(rows: readonly TimesRow[]): Map<string, number> {
	return new Map(
		rows.map(({ phase, name, wall }) => [phase === 'prepare' ? `prepare ${name}` : name === '' ? phase : name, wall]),
	);
}

const passed = (name: string): Outcome => ({ name, status: 'passed', milliseconds: 0 });
const failed = (message: string): Outcome => ({
	name: 'the check',
	status: 'failed',
	milliseconds: 0,
	failure: { message, stack: '' },
});

/** Describes the failure of a check by the first lines of its output, which contain the first error. */
function checkFailure(why: string, log: string): string {
	const lines = tail(log, Number.POSITIVE_INFINITY)
		.split('\n')
		.filter((line) => line.trim() !== '');
	return [`${why}; its output is in ${relative(root, log)}`, ...lines.slice(0, 10)].join('\n');
}

function indent(text: string): string {
	return text.replaceAll(/^/gm, '      ');
}

function lastLines(text: string, lines: number): string {
	return text.trimEnd().split('\n').slice(-lines).join('\n');
}
