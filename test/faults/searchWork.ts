import { type ChildProcess, spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Random } from '../../src/base/random.ts';
import { readTreeLog } from '../../src/search/treeLogFile.ts';
import { builtProgram } from '../support/programs.ts';
import type { Work, WorkKind } from './work.ts';

const script = {
	name: 'adder',
	tags: { think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] },
	rules: [
		{
			delayMs: 20,
			say: [
				{ text: '<think>17 + 25\nis 42</think>\n<answer>42</answer>', weight: 2 },
				{ text: '<think>17 + 25\nis 43</think>\n<answer>43</answer>', weight: 1 },
			],
		},
	],
};

/** Strategies that take about a second each; a node budget limits the ones that would take longer. */
const strategies: readonly (readonly [string, readonly string[]])[] = [
	['self-consistency', ['--param', 'n=40']],
	['beam', ['--param', 'width=2', '--param', 'expansions=3', '--guide', 'mean-logprob']],
	['mcts', ['--guide', 'mean-logprob', '--budget', 'nodes=40']],
	['sequential-revision', ['--param', 'chains=2', '--param', 'revisions=16']],
];

class SearchWork implements Work {
	readonly folder: string;
	readonly #log: string;
	readonly #args: readonly string[];
	readonly #environment: Readonly<Record<string, string>>;
	#child: ChildProcess | null = null;
	#said = '';

	constructor(folder: string, args: readonly string[], environment: Readonly<Record<string, string>>) {
		this.folder = folder;
		this.#log = join(folder, 'searches', 'a.jsonl');
		this.#args = args;
		this.#environment = environment;
	}

	#spawn(args: readonly string[]): { child: ChildProcess; said: () => string } {
		let text = '';
		const child = spawn(process.execPath, [builtProgram('dist/cli.js'), 'search', ...args], {
			cwd: this.folder,
			env: { ...process.env, ...this.#environment },
			stdio: ['ignore', 'ignore', 'pipe'],
		});
		child.stderr?.setEncoding('utf8').on('data', (part: string) => {
			text += part;
		});
		return { child, said: () => text };
	}

	async #begin(args: readonly string[]): Promise<void> {
		const { child, said } = this.#spawn(args);
		this.#child = child;
		child.once('close', () => {
			this.#said = said();
		});
	}

	start(): Promise<void> {
		return this.#begin(this.#args);
	}

	/** Resumes the search, or restarts it if it was hit before its log had any content. */
	async resume(): Promise<void> {
		const started = (await readFile(this.#log, 'utf8').catch(() => '')).includes('\n');
		await this.#begin(started ? ['--continue', this.#log] : this.#args);
	}

	async startTwice(): Promise<string | null> {
		const { child, said } = this.#spawn(['--continue', this.#log]);
		const code = await new Promise((resolve) => child.once('close', resolve));
		return code === 0 ? null : said();
	}

	async isOver(): Promise<boolean> {
		const child = this.#child;
		return child === null || child.exitCode !== null || child.signalCode !== null;
	}

	async isComplete(): Promise<boolean> {
		const text = await readFile(this.#log, 'utf8').catch(() => '');
		if (!text.endsWith('\n')) return false;
		const last = JSON.parse(text.trimEnd().split('\n').at(-1) as string) as { type?: string; stop?: string };
		return last.stop !== undefined;
	}

	/**
	 * Returns the parts that must not change. An interrupted step is resampled, so its text may differ, but the stop
	 * reason and sample count may not.
	 */
	async outcome(): Promise<unknown> {
		const { tree } = await readTreeLog(this.#log);
		const isSampling = tree.start?.strategy === 'self-consistency';
		return { stop: tree.outcome?.stop, ...(isSampling ? { nodes: tree.nodes.length } : {}) };
	}

	async reason(): Promise<string> {
		return this.#said.trim().slice(-500);
	}
}

export const searchKind: WorkKind = {
	name: 'search',
	roles: ['search'],
	async make(folder, seed, environment) {
		const random = Random.of('faults', 'search', seed);
		await writeFile(join(folder, 'script.json'), JSON.stringify(script));
		const [strategy, params] = strategies[random.int(strategies.length)] as (typeof strategies)[number];
		const asked = ['What is 17 + 25?', '--answer', '42', '--policy', 'script.json', '--seed', `${seed}`];
		const args = [...asked, '--strategy', strategy, ...params, '--concurrency', '1', '--log', 'searches/a.jsonl'];
		return new SearchWork(folder, args, environment);
	},
};
