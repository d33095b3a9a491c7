import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CodeLanguage } from '../../src/rewards/codeTestsAnswer.ts';
import { tolerances } from '../../src/rewards/codeTestsComparison.ts';
import { root } from '../scripts/paths.ts';

export const harness = join(root, 'src/rewards/sandbox/harness');

export interface CheckedAnswer {
	readonly passed: number;
	readonly parts: number;
	/** Reason why nothing was tested: an error in the row, or in loading the answer. */
	readonly fault: string | null;
	/** Whether the answer is at fault because it could not be loaded. */
	readonly atLoad: boolean;
	/** Each verdict as the checker gives it, in words: `0: 1/2 ValueError: x`, `load: the answer's process exited`. */
	readonly lines: readonly string[];
}

export interface CheckerPlace {
	/** Empty folder used only for this check. */
	readonly folder: string;
	readonly python: string;
	readonly environment?: NodeJS.ProcessEnv;
	/** Language of the answer and the checker. Default: Python. */
	readonly language?: CodeLanguage;
	/** Harness sources by name that replace the product's. */
	readonly changed?: Readonly<Record<string, string>>;
	/** Aborting this signal kills both processes. */
	readonly signal?: AbortSignal;
	/**
	 * Whether to kill both processes after some seconds in which neither does anything, because they may be deadlocked.
	 */
	readonly onlyBusy?: boolean;
}

/**
 * Runs the test checker on an answer in two plain processes without a sandbox, for tests that need packages missing
 * from the sandbox's Python and for mutated checkers.
 */
export async function checkAnswer(
	answer: string,
	tests: object,
	{ folder, python, environment = {}, language = 'python', changed = {}, signal, onlyBusy = false }: CheckerPlace,
): Promise<CheckedAnswer> {
	const spec = {
		setup: [],
		prompt: null,
		entryPoint: 'solve',
		skip: 0,
		most: 64,
		tolerance: tolerances.other,
		...tests,
	};
	await writeFile(join(folder, 'tests.json'), JSON.stringify(spec));
	const [ending, endingOfTools] = language === 'python' ? ['py', 'py'] : ['js', 'cjs'];
	await writeFile(join(folder, `answer.${ending}`), answer);
	const own = `test_checker.${endingOfTools}`;
	for (const name of language === 'python' ? [own] : [own, 'test_runner.cjs']) {
		await writeFile(join(folder, name), changed[name] ?? (await readFile(join(harness, name), 'utf8')));
	}
	const start = (program: string) =>
		spawn(language === 'python' ? python : process.execPath, [...(language === 'python' ? ['-s'] : []), program], {
			cwd: folder,
			env: { PATH: process.env.PATH, TMPDIR: folder, ...environment },
		});
	const [served, checking] = [start(join(harness, `answer_server.${endingOfTools}`)), start(own)];
	// A mutated checker may wait or loop forever.
	const end = () => checking.kill('SIGKILL');
	const timer = setTimeout(end, 60_000);
	signal?.addEventListener('abort', end);
	const idle = setInterval(() => {
		idleTimes = onlyBusy && isAsleep(checking.pid) && isAsleep(served.pid) ? idleTimes + 1 : 0;
		if (idleTimes >= 8) end();
	}, 500);
	let idleTimes = 0;
	checking.stdout.pipe(served.stdin).on('error', () => undefined);
	served.stdout.pipe(checking.stdin).on('error', () => undefined);
	served.stderr.resume();
	let text = '';
	checking.stderr.setEncoding('utf8').on('data', (part: string) => {
		text += part;
	});
	await once(checking, 'close');
	clearTimeout(timer);
	clearInterval(idle);
	signal?.removeEventListener('abort', end);
	served.kill('SIGKILL');
	return verdictOf(text);
}

/** Returns whether a process is waiting for something other than a CPU. Returns true if it has exited. */
function isAsleep(pid: number | undefined): boolean {
	try {
		return !/^\d+ \(.*\) [RD]/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
	} catch {
		return true;
	}
}

/** Parses the checker's output lines. */
export function verdictOf(text: string): CheckedAnswer {
	let [passed, parts, fault]: [number, number, string | null] = [0, 0, null];
	let atLoad = false;
	const lines: string[] = [];
	for (const line of text.split('\n').filter((one) => one.startsWith('{'))) {
		const result = JSON.parse(line) as {
			test?: number;
			passed?: number;
			parts?: number;
			why?: string | null;
			fault?: string;
			load?: string;
		};
		lines.push(
			result.test === undefined
				? `${Object.keys(result).join()}: ${result.fault ?? result.load}`
				: `${result.test}: ${result.passed}/${result.parts}${result.why === null ? '' : ` ${result.why}`}`,
		);
		passed += result.passed ?? 0;
		parts += result.parts ?? 0;
		atLoad ||= result.load !== undefined;
		fault ??= result.fault ?? result.load ?? null;
	}
	return { passed, parts, fault, atLoad, lines };
}
