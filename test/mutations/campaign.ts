/** Mutates a copy of a checkout at one location at a time and checks whether its tests notice. */
import { execFileSync, spawn } from 'node:child_process';
import {
	appendFileSync,
	closeSync,
	cpSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	openSync,
	readFileSync,
	renameSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ImportGraph } from '../runner/importGraph.ts';
import { findSuites } from '../runner/suites.ts';
import { cache, node } from '../scripts/paths.ts';
import { endGroup, ProcessFamily } from '../scripts/process.ts';
import { mutated, type Place } from './places.ts';

export interface Verdict {
	readonly place: Place;
	readonly line: number;
	readonly caught: boolean;
	/** First failure, or the reason why there is none. */
	readonly by: string;
	readonly files: number;
	readonly seconds: number;
}

interface Failed {
	readonly words: string;
	/** Test file of the failure, if known. */
	readonly file: string | null;
}

/** Number of closest test files to run before all others. */
const nearest = 4;
/** Timeout per mutation. A mutation that makes the tests hang counts as caught. */
const timeoutSeconds = 1500;
/** Timeout per test. The slowest test takes half of it. */
const testTimeoutMs = 240_000;

export class Campaign {
	readonly #tree: string;
	readonly #graph: ImportGraph;
	readonly #tests: readonly string[];

	/** @param source folder of a checkout with its packages installed; it is not modified */
	constructor(source: string) {
		this.#tree = mkdtempSync(join(tmpdir(), 'm-'));
		const options = { cwd: source, encoding: 'utf8', maxBuffer: 64 << 20 } as const;
		const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], options);
		for (const file of listed.split('\0')) {
			if (file === '' || !existsSync(join(source, file))) continue;
			mkdirSync(dirname(join(this.#tree, file)), { recursive: true });
			cpSync(join(source, file), join(this.#tree, file));
		}
		symlinkSync(join(source, 'node_modules'), join(this.#tree, 'node_modules'));
		symlinkSync(
			existsSync(join(source, '.vscode-test')) ? join(source, '.vscode-test') : cache,
			join(this.#tree, '.vscode-test'),
		);
		this.#graph = new ImportGraph(this.#tree);
		this.#tests = findSuites(this.#tree)
			.filter(({ name }) => name !== 'integration' && name !== 'e2e')
			.flatMap(({ files }) => files)
			// Tests of the runner start `npm test` themselves, which fails in a copy.
			.filter((file) => !file.startsWith('test/unit/runner/'));
	}

	/** Returns the tests that can reach a file, closest first. */
	tests(file: string): string[] {
		return this.#tests
			.map((test) => [test, this.#graph.dependencies(test).get(file)] as const)
			.filter((pair): pair is readonly [string, number] => pair[1] !== undefined)
			.sort((a, b) => a[1] - b[1])
			.map(([test]) => test);
	}

	async run(place: Place, log: string): Promise<Verdict> {
		const path = join(this.#tree, place.file);
		const text = readFileSync(path, 'utf8');
		const start = performance.now();
		const line = text.slice(0, place.start).split('\n').length;
		const files = this.tests(place.file);
		const verdict = (caught: boolean, by: string): Verdict => ({
			place,
			line,
			caught,
			by,
			files: files.length,
			seconds: (performance.now() - start) / 1000,
		});
		if (files.length === 0) return verdict(false, 'no test reaches it');
		appendFileSync(log, `\n== ${place.file}:${line} ${place.original} -> ${place.replacement}\n${files.join(' ')}\n`);
		const [built, own] = ['dist', 'dist-unchanged'].map((name) => join(this.#tree, name)) as [string, string];
		if (!existsSync(own)) {
			if (!(await this.#build(log))) throw new Error(`The copy of the checkout cannot be built: see ${log}`);
			renameSync(built, own);
		}
		writeFileSync(path, mutated(text, place));
		try {
			if (!(await this.#build(log))) return verdict(true, 'the build');
			for (let left = files; left.length > 0; ) {
				const failure = await this.#firstFailure(left, log);
				if (failure === null) break;
				const { file } = failure;
				if (file === null) return verdict(true, failure.words);
				// A test that also fails without the mutation has not caught it.
				const changed = `${built}-changed`;
				renameSync(built, changed);
				renameSync(own, built);
				writeFileSync(path, text);
				const without = await this.#firstFailure([file], log);
				renameSync(built, own);
				if (without === null) return verdict(true, failure.words);
				renameSync(changed, built);
				writeFileSync(path, mutated(text, place));
				left = left.filter((other) => other !== file);
			}
			return verdict(false, 'nothing');
		} finally {
			writeFileSync(path, text);
			for (const folder of [built, `${built}-changed`]) rmSync(folder, { recursive: true, force: true });
		}
	}

	async #build(log: string): Promise<boolean> {
		return (await this.#command([join(this.#tree, 'esbuild.mjs'), '--tests'], log, 300)) === 0;
	}

	/** @returns the first failure, with its test file if known, or null if nothing failed */
	async #firstFailure(files: readonly string[], log: string): Promise<Failed | null> {
		// Node runs files in alphabetical order. Run the closest files, which catch most mutations, separately first.
		return (await this.#run(files.slice(0, nearest), log)) ?? (await this.#run(files.slice(nearest), log));
	}

	async #run(files: readonly string[], log: string): Promise<Failed | null> {
		if (files.length === 0) return null;
		const before = readFileSync(log).length;
		const code = await this.#command(
			[
				'--test',
				`--test-timeout=${testTimeoutMs}`,
				'--test-concurrency=2',
				`--test-reporter=${join(import.meta.dirname, 'firstFailure.ts')}`,
				...files,
			],
			log,
			timeoutSeconds,
		);
		if (code === 0) return null;
		if (code === 124) return { words: `did not finish within ${timeoutSeconds} s`, file: null };
		const words = readFileSync(log).subarray(before).toString().trim().split('\n')[0] ?? '';
		return { words, file: files.find((file) => words.includes(`/${file})`)) ?? null };
	}

	async dispose(): Promise<void> {
		await new ProcessFamily(this.#tree).end(2);
		rmSync(this.#tree, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
	}

	/** Returns the exit status, or 124 on timeout. */
	async #command(args: readonly string[], log: string, seconds: number): Promise<number> {
		const temporary = join(this.#tree, '.tmp');
		mkdirSync(temporary, { recursive: true });
		const descriptor = openSync(log, 'a');
		const child = spawn(node, args, {
			cwd: this.#tree,
			env: { ...process.env, TMPDIR: temporary, PYTEST_ADDOPTS: '-x', NODE_COMPILE_CACHE: join(cache, 'compiled') },
			stdio: ['ignore', descriptor, descriptor],
			detached: true,
		});
		closeSync(descriptor);
		let late = false;
		const timer = setTimeout(() => {
			late = true;
			endGroup(child);
		}, seconds * 1000);
		const code = await new Promise<number>((resolve) => {
			child.once('exit', (status) => resolve(status ?? 1));
			child.once('error', () => resolve(127));
		});
		clearTimeout(timer);
		// Test files that were running alongside the failed one are in the same process group.
		endGroup(child);
		await new ProcessFamily(temporary).end(0.2);
		rmSync(temporary, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
		return late ? 124 : code;
	}
}
