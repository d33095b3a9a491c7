/** A malicious workspace, where every setting that can name a program or a server names an attacker's. */
import assert from 'node:assert/strict';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import { treeLogFormat } from '../../src/protocol/treeLog.ts';
import { writePipeline } from '../../src/runs/pipeline/pipelineFolder.ts';
import { mctsEvents } from '../support/treeEvents.ts';
import { grpoRecipe, writeComparedRun } from '../unit/webview/comparison/comparisonFixture.ts';
import { enginesUnder } from './laboratory.ts';

/** Hides copies of files in runs, because *Go to File* picks either of two files with the same name. */
export const notCopies = { 'search.exclude': { 'runs/**': true } };

export class HostileWorkspace {
	readonly folder: string;
	/** File outside the workspace to which each started program appends its name. */
	readonly #started: string;
	readonly #server: Server;
	/** Number of connections to the server named in the workspace. */
	connections = 0;

	private constructor(folder: string, started: string) {
		this.folder = folder;
		this.#started = started;
		this.#server = createServer((socket) => {
			this.connections++;
			socket.on('error', () => undefined).destroy();
		});
	}

	/** @param started a nonexistent file */
	static async write(folder: string, started: string): Promise<HostileWorkspace> {
		const workspace = new HostileWorkspace(folder, started);
		await new Promise<void>((listening) => workspace.#server.listen(0, '127.0.0.1', listening));
		await workspace.#write();
		return workspace;
	}

	/** Returns the names of the programs and files that ran, in order of first execution. */
	started(): string[] {
		if (!existsSync(this.#started)) return [];
		return [...new Set(readFileSync(this.#started, 'utf8').trim().split('\n'))];
	}

	/** Fails if anything in the workspace was run, contacted or trained. */
	untouched(when: string): void {
		assert.deepEqual(this.started(), [], `programs and files that were run, ${when}`);
		assert.equal(this.connections, 0, `connections to the server that the workspace names, ${when}`);
		assert.deepEqual(enginesUnder(this.folder), [], `engines, ${when}`);
	}

	get origin(): string {
		return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
	}

	get policy() {
		return { kind: 'openai', name: 'hostile', baseUrl: `${this.origin}/v1`, model: 'm' } as const;
	}

	path(name: string): string {
		return join(this.folder, name);
	}

	put(name: string, content: string | object): string {
		const path = this.path(name);
		mkdirSync(dirname(path), { recursive: true });
		writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content, undefined, '\t'));
		return path;
	}

	async stop(): Promise<void> {
		await new Promise((closed) => this.#server.close(closed));
	}

	/** Writes a program that records that it was started. */
	#program(name: string): string {
		const path = this.put(name, `#!/bin/sh\necho '${name}' >> '${this.#started}'\nexit 1\n`);
		chmodSync(path, 0o755);
		return path;
	}

	async #write(): Promise<void> {
		const { origin, policy } = this;
		this.put('.vscode/settings.json', {
			...notCopies,
			'reasoningLab.node.path': this.#program('bin/node'),
			'reasoningLab.rewards.python': this.#program('bin/python'),
			'reasoningLab.rewards.verifyOnOpen': true,
			'reasoningLab.sandbox.mode': 'off',
			'reasoningLab.research.searchServer': `${origin}/search`,
			'reasoningLab.policies': [{ ...policy, kind: undefined }],
			'reasoningLab.pytorch.python': this.#program('bin/torch-python'),
			'reasoningLab.pytorch.folder': this.path('torch'),
			'reasoningLab.pytorch.installer': this.#program('bin/uv'),
			'reasoningLab.pytorch.indexUrl': `${origin}/simple`,
			'reasoningLab.pytorch.pipArguments': ['--index-url', `${origin}/simple`],
			'python.defaultInterpreterPath': this.path('bin/python'),
		});
		for (const place of ['.venv/bin', 'venv/bin', 'torch/bin', 'torch/.venv/bin']) {
			for (const name of ['python', 'python3']) this.#program(`${place}/${name}`);
		}
		this.put('.git/HEAD', 'ref: refs/heads/main\n');
		this.put('.git/config', `[core]\n\trepositoryformatversion = 0\n\tfsmonitor = ${this.#program('bin/fsmonitor')}\n`);
		for (const name of ['objects', 'refs']) mkdirSync(this.path(`.git/${name}`), { recursive: true });

		this.put('data/train.jsonl', '{"prompt":"2+3","answer":"5"}\n{"prompt":"4+4","answer":"8"}\n');
		const reply = `appendFileSync(${JSON.stringify(this.#started)}, 'hostile.reward.ts\\n');`;
		this.put(
			'rewards/hostile.reward.ts',
			`import { appendFileSync } from 'node:fs';\n\n${reply}\n\n// @dataset ../data/train.jsonl\nexport const hostile = ({ completion, answer }) => (completion.includes(answer) ? 1 : 0);\n`,
		);
		this.put(
			'rewards/snake.reward.py',
			`open(${JSON.stringify(this.#started)}, 'a').write('snake.reward.py\\n')\n\n# @dataset ../data/train.jsonl\ndef snake(prompts, completions, answer, **kwargs):\n    return [1.0 for _ in completions]\n`,
		);
		this.put(
			'rewards/hostile.cases.jsonl',
			'{"name":"a","prompt":"2+3","completion":"5","row":{"answer":"5"},"expect":1}\n',
		);
		for (const name of ['sitecustomize.py', 'usercustomize.py', 'torch.py']) {
			this.put(name, `open(${JSON.stringify(this.#started)}, 'a').write('${name}\\n')\n`);
		}

		const rewards = [{ file: 'rewards/hostile.reward.ts' }, { file: 'rewards/snake.reward.py' }];
		const recipe = {
			...{ name: 'own', dataset: { path: 'data/train.jsonl' }, model: { layers: 1, width: 16, heads: 1 }, rewards },
			stages: [{ type: 'grpo', steps: 2, learning_rate: 1e-4 }],
		};
		this.put('own.recipe.json', recipe);
		this.put('torch.recipe.json', { ...recipe, name: 'torch', engine: 'pytorch', model: { path: this.path('model') } });
		this.put('ray.recipe.json', {
			...recipe,
			name: 'ray',
			engine: 'ray',
			model: { path: 'm' },
			ray: { address: origin },
		});

		const runs = this.path('runs');
		for (const status of ['stopped', 'finished'] as const) {
			const run = await writeComparedRun(runs, {
				...{ name: status, steps: 40, problems: 8, recipe: { ...grpoRecipe(), ...recipe } },
				record: { status, totalSteps: 80 },
			});
			cpSync(this.path('rewards'), join(run, 'rewards'), { recursive: true });
		}
		const pipeline = join(runs, 'story');
		await writeComparedRun(pipeline, { name: 'rl', steps: 40, problems: 8, recipe: { ...grpoRecipe(), ...recipe } });
		await writePipeline(pipeline, {
			...{ format: 1, id: 'story', name: 'story', status: 'stopped', attempt: 1, host: 'h', boot: 'b', pid: 1 },
			...{ created: 1000, updated: 1100, heartbeat: 1100, processStart: 's', recipeFolder: this.folder },
			hashes: { recipe: 'a'.repeat(64) },
			stages: [
				{
					...{ name: 'rl', type: 'grpo', status: 'stopped', after: [], inputHash: null, outputs: [] },
					...{ started: 1000, ended: 1100, attempt: 1, accuracy: null },
				},
			],
		});
		this.put('runs/story/pipeline.recipe.json', { ...recipe, stages: [{ ...recipe.stages[0], name: 'rl' }] });

		const [start, ...events] = mctsEvents({ nodes: 12, open: true });
		const spec = { policy, strategy: 'mcts', guide: { use: 'judge', policy }, params: { simulations: 20 } };
		const log = [{ ...start, format: treeLogFormat, spec }, ...events].map((event) => JSON.stringify(event));
		this.put('searches/hostile.jsonl', `${log.join('\n')}\n`);
		this.put('comparisons/unfinished/comparison.json', {
			...{ format: 1, problemsHash: 'x', created: 1000 },
			spec: {
				...{ name: 'unfinished', policy, problems: { from: 'file', path: this.path('data/train.jsonl') } },
				strategies: [{ strategy: 'best-of-n', params: { n: 2 } }],
			},
		});
		this.put('chat.json', { messages: [{ role: 'user', content: 'hello' }] });
		this.put('played.script.json', { name: 'played', rules: [{ say: '5' }] });
	}
}
