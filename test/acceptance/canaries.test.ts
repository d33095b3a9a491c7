// @reaches cli engine driver pipeline rewardHost
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { processState } from '../../src/processes/processIdentity.ts';
import { runsIn } from '../../src/runs/runFolders.ts';
import { readRecord } from '../../src/runs/runReader.ts';
import { root } from '../scripts/paths.ts';
import { type Answered, type Asked, codeOf, ScriptedServer } from '../support/scriptedServer.ts';

/*
 * Puts a canary in every variable and file that holds a key, and uses servers that echo whatever they receive and every
 * file that can name a server. No canary may appear in a request to a server that its key does not belong to, in a
 * written file, or in printed output.
 */

const limit = { timeout: 900_000 };
const canary = (name: string) => `CANARY-${createHash('sha256').update(name).digest('hex').slice(0, 24)}`;
const isCanary = /CANARY-[0-9a-f]{8}/;

/** Environment variables where common ML tools look for keys. */
const secretNames = [
	...['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'HF_TOKEN', 'HUGGING_FACE_HUB_TOKEN', 'WANDB_API_KEY', 'GITHUB_TOKEN'],
	...['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN', 'GOOGLE_API_KEY', 'AZURE_OPENAI_API_KEY'],
	...['NPM_TOKEN', 'PIP_PASSWORD', 'SSH_AUTH_SOCK', 'RAY_AUTH_TOKEN', 'REASONING_LAB_TOKEN', 'SECRET', 'MY_KEY'],
];
/** Files in the home folder that contain keys. */
const secretFiles = ['.netrc', '.ray/auth_token', '.ssh/id_ed25519', '.cache/huggingface/token', '.aws/credentials'];

interface Place {
	readonly folder: string;
	/** The user's server. Its key is in the environment, keyed by origin. */
	readonly own: ScriptedServer;
	/** Server named only in files. */
	readonly foreign: ScriptedServer;
	run(...args: string[]): Promise<{ readonly status: number | null; readonly text: string }>;
	write(name: string, value: unknown): Promise<string>;
	/** Returns a policy that uses one of the servers. */
	policy(server: ScriptedServer, more?: object): Record<string, unknown>;
}

/** Echoes the request in one of several formats, selected by the first path segment. */
function echo(asked: Asked): Answered {
	const [, form = ''] = asked.path.split('/');
	const heard = JSON.stringify([asked.path, asked.headers, asked.body]);
	if (asked.path.endsWith('/models')) return { body: { object: 'list', data: [{ id: 'm' }], heard } };
	if (form === 'refuse') return { status: 400, body: { error: { message: asked.headers.authorization ?? heard } } };
	if (form === 'fail') return { status: 500, body: heard };
	if (form === 'deny') return { status: 401, body: { detail: asked.headers.authorization ?? heard } };
	const content = `${asked.headers.authorization}\n${heard}\nVERDICT ${asked.body.messages === undefined ? '' : codeOf(asked)}: YES\n<answer>42</answer>`;
	const choice = { index: 0, message: { role: 'assistant', content }, text: content, finish_reason: 'stop' };
	return { body: { choices: [choice], usage: { prompt_tokens: 1, completion_tokens: 1 }, heard } };
}

async function placeFor(context: TestContext): Promise<Place> {
	const base = await mkdtemp(join(tmpdir(), 'canaries-'));
	const [folder, home] = [join(base, 'work'), join(base, 'home')];
	await mkdir(join(base, 'x'), { recursive: true, mode: 0o700 });
	await mkdir(folder);
	const own = await ScriptedServer.start(echo);
	const foreign = await ScriptedServer.start(echo);
	for (const name of secretFiles) {
		await mkdir(join(home, name, '..'), { recursive: true });
		await writeFile(join(home, name), canary(name));
	}
	context.after(async () => {
		await Promise.all([own.stop(), foreign.stop()]);
		for (const run of await runsIn(join(folder, 'runs'))) {
			const record = await readRecord(run).catch(() => null);
			if (record !== null && (await processState(record)) === 'alive') process.kill(record.pid, 'SIGKILL');
		}
		await rm(base, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
	});
	const keys = { [own.origin]: canary('own'), 'https://elsewhere.example': canary('elsewhere') };
	const { PATH, TMPDIR, LANG } = process.env;
	const environment = {
		...{ PATH, TMPDIR, LANG, HOME: home, REASONING_LAB_HOME: join(base, 'lab'), XDG_RUNTIME_DIR: join(base, 'x') },
		...Object.fromEntries(secretNames.map((name) => [name, canary(name)])),
		RAY_JOB_HEADERS: JSON.stringify({ 'X-Team-Key': canary('RAY_JOB_HEADERS') }),
		REASONING_LAB_API_KEYS: JSON.stringify(keys),
		NO_COLOR: '1',
	};
	return {
		folder,
		own,
		foreign,
		async run(...args) {
			const child = spawn(process.execPath, [join(root, 'dist/cli.js'), ...args], {
				cwd: folder,
				env: environment,
				stdio: ['ignore', 'pipe', 'pipe'],
			});
			let text = '';
			for (const stream of [child.stdout, child.stderr]) {
				stream.setEncoding('utf8').on('data', (part: string) => {
					text += part;
				});
			}
			const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
			// A run with failing rewards pauses and waits for the user.
			const ended = new AbortController();
			const interrupts = (async () => {
				while (!ended.signal.aborted && !(await isPaused(join(folder, 'runs')))) await setTimeout(200);
				if (!ended.signal.aborted) child.kill('SIGINT');
			})();
			const status = await closed;
			ended.abort();
			await interrupts;
			return { status, text };
		},
		async write(name, value) {
			const path = join(folder, name);
			await mkdir(join(path, '..'), { recursive: true });
			await writeFile(path, typeof value === 'string' ? value : JSON.stringify(value));
			return path;
		},
		policy: (server, more = {}) => ({
			...{ kind: 'openai', name: 'helper', baseUrl: `${server.origin}/v1`, model: 'm', retries: 0, ...more },
		}),
	};
}

async function isPaused(folder: string): Promise<boolean> {
	const records = (await runsIn(folder)).map((run) => readRecord(run).catch(() => null));
	return (await Promise.all(records)).some((record) => record?.status === 'paused');
}

/** Returns the files in the folder that contain a canary in any encoding. */
async function tainted(folder: string): Promise<string[]> {
	const entries = await readdir(folder, { recursive: true, withFileTypes: true });
	const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
	const found = await Promise.all(
		files.map(async (file) => ({ file, bytes: await readFile(file, 'latin1').catch(() => '') })),
	);
	return found.filter(({ bytes }) => isCanary.test(bytes)).map(({ file }) => file);
}

/** Checks the invariants that must hold after every command. */
async function requireClean(place: Place, name: string, text: string): Promise<void> {
	const { own, foreign, folder } = place;
	for (const asked of foreign.asked) {
		assert.doesNotMatch(JSON.stringify(asked), isCanary, `${name}: a key was sent to a server named in a file`);
	}
	for (const { headers, body, path } of own.asked) {
		const { authorization = '', ...rest } = headers;
		assert.ok(authorization === '' || authorization === `Bearer ${canary('own')}`, `${name}: ${authorization}`);
		assert.doesNotMatch(JSON.stringify([rest, body, path]), isCanary, name);
	}
	assert.doesNotMatch(text, isCanary, `${name}: a key was printed`);
	assert.deepEqual(await tainted(folder), [], `${name}: a key was written to a file`);
}

const tiny = {
	...{ name: 'tiny', workers: 1, dataset: { task: 'addition', digits: 1 } },
	model: { layers: 1, width: 16, heads: 2 },
	evaluate: { problems: 4, every: 100 },
};
const grpo = { type: 'grpo', steps: 2, learning_rate: 0.001, prompts_per_step: 2, num_generations: 2 };
const samples = { strategy: 'self-consistency', params: { n: 2 } };

describe('keys', () => {
	test('in the environment cannot be selected by a file', limit, async (context) => {
		const place = await placeFor(context);
		const asks = place.policy(place.foreign, { keyVariable: 'SECRET' });
		const judge = { use: 'judge', policy: asks };
		const plain = place.policy(place.foreign);
		await place.write('rows.jsonl', '{"prompt":"What is 17 + 25?","answer":"42"}\n');
		await place.write('policy.json', asks);
		await place.write('asks.json', { ...samples, policy: asks });
		await place.write('judge.json', { strategy: 'best-of-n', params: { n: 2 }, policy: plain, judge });
		await place.write('guide.json', { strategy: 'best-of-n', params: { n: 2 }, policy: plain, guide: judge });
		const problems = { from: 'file', path: join(place.folder, 'rows.jsonl') };
		const strategies = [{ strategy: 'best-of-n', params: { n: 2 }, guide: judge }];
		await place.write('compared.json', { policy: plain, problems, strategies, samples: 1, bandSamples: 0 });
		await place.write('compared/comparison.json', {
			format: 1,
			spec: { policy: asks, problems, strategies: [samples] },
		});
		await place.write('data.json', { problems, search: { ...samples, policy: asks }, exports: ['sft'] });
		const rule = { say: '<answer>42</answer>' };
		await place.write('script.json', { name: 'fixed', rules: [rule] });
		const started = await place.run('search', 'p', '--policy', 'script.json', '--log', 'begun.search.jsonl');
		assert.equal(started.status, 0, started.text);
		const [first, ...rest] = (await readFile(join(place.folder, 'begun.search.jsonl'), 'utf8')).split('\n');
		const tools = [{ use: 'workspace', folder: join(place.folder, '../home') }];
		for (const [name, spec] of Object.entries({
			log: { ...samples, policy: asks },
			judged: { strategy: 'best-of-n', params: { n: 2 }, policy: plain, judge },
			research: { strategy: 'reflexion', params: {}, policy: asks, tools },
		})) {
			const start = { ...JSON.parse(first as string), strategy: spec.strategy, params: spec.params, spec };
			await place.write(`${name}.search.jsonl`, [JSON.stringify(start), ...rest].join('\n'));
		}
		const commands: Record<string, string[]> = {
			'search --policy FILE': ['search', 'p', '--policy', 'policy.json'],
			'search --spec': ['search', 'p', '--spec', 'asks.json'],
			'search --spec with a judge': ['search', 'p', '--spec', 'judge.json'],
			'search --spec with a guide': ['search', 'p', '--spec', 'guide.json'],
			'search --continue': ['search', '--continue', 'log.search.jsonl', '--budget', 'nodes=2'],
			'search --continue with a judge': ['search', '--continue', 'judged.search.jsonl', '--budget', 'nodes=2'],
			'reflexion --continue': ['reflexion', '--continue', 'research.search.jsonl', '--budget', 'nodes=2'],
			solve: ['solve', 'p', '--spec', 'asks.json'],
			serve: ['serve', '--spec', 'asks.json', '--port', '0'],
			evaluate: ['evaluate', '--policy', 'policy.json', '--dataset', 'rows.jsonl'],
			'compare-strategies': ['compare-strategies', '--spec', 'compared.json'],
			'compare-strategies on a folder': ['compare-strategies', '--spec', 'compared/comparison.json', '--out', 'other'],
			'generate-data': ['generate-data', '--spec', 'data.json'],
		};
		for (const [name, args] of Object.entries(commands)) {
			const { status, text } = await place.run(...args);
			assert.notEqual(status, 0, `${name}: ${text}`);
			assert.match(text, /environment variable SECRET|You did not start/, name);
			await requireClean(place, name, text);
		}
		// A variable named on the command line is used, but nothing the server echoes from it is stored.
		place.foreign.asked.length = 0;
		const { text } = await place.run('search', 'p', '--spec', 'asks.json', '--key-variable', 'SECRET');
		assert.ok(place.foreign.asked.some(({ headers }) => headers.authorization === `Bearer ${canary('SECRET')}`));
		assert.doesNotMatch(text, isCanary);
		assert.deepEqual(await tainted(place.folder), []);
		// Continuing the user's own log uses the same key.
		const [log] = (await readdir(join(place.folder, 'searches'))).filter((one) => one.endsWith('.jsonl'));
		place.foreign.asked.length = 0;
		await place.run('search', '--continue', join('searches', log as string), '--budget', 'nodes=1');
		assert.ok(place.foreign.asked.some(({ headers }) => headers.authorization === `Bearer ${canary('SECRET')}`));
		assert.deepEqual(await tainted(place.folder), []);
	});

	test('in recipes, runs, pipelines and rewards are sent only to their own origin', limit, async (context) => {
		const place = await placeFor(context);
		const { own, foreign } = place;
		const judgeAt = (server: ScriptedServer, form: string) => ({
			...{
				use: 'judge',
				url: `${server.origin}/${form}/v1`,
				model: 'm',
				retries: 0,
				cache: join(place.folder, `${form}.cache`),
			},
		});
		for (const form of ['say', 'refuse', 'fail', 'deny']) {
			for (const [who, server] of Object.entries({ own, foreign })) {
				const recipe = {
					...{ ...tiny, name: `${who}-${form}`, stages: [grpo] },
					rewards: [judgeAt(server, form), { use: 'process', url: `${server.origin}/${form}/steps`, retries: 0 }],
				};
				await place.write(`${who}-${form}.recipe.json`, recipe);
				const { text } = await place.run('run', `${who}-${form}.recipe.json`);
				assert.ok(server.asked.length > 0, `${who} ${form}: ${text}`);
				await requireClean(place, `run ${who}-${form}`, text);
			}
		}
		assert.ok(own.asked.some(({ headers }) => headers.authorization === `Bearer ${canary('own')}`));
		const guide = { use: 'judge', policy: place.policy(foreign, { keyVariable: 'SECRET' }) };
		const ownGuide = { use: 'judge', policy: place.policy(own) };
		for (const [name, scorer] of Object.entries({ foreign: guide, own: ownGuide })) {
			const stages = [
				{ name: 'cold', type: 'sft', steps: 2, learning_rate: 0.003, batch_size: 4 },
				{
					name: 'solve',
					type: 'search',
					from: 'cold',
					problems: 1,
					strategy: 'best-of-n',
					params: { n: 2 },
					guide: scorer,
				},
			];
			await place.write(`story-${name}.recipe.json`, { ...tiny, name: `story-${name}`, stages });
			const { text } = await place.run('run', `story-${name}.recipe.json`);
			await requireClean(place, `pipeline ${name}`, text);
		}
		// Files that were written are never treated as instructions: these commands contact no server.
		const before = [own.asked.length, foreign.asked.length];
		for (const run of (await readdir(join(place.folder, 'runs'))).slice(0, 3)) {
			for (const args of [['inspect'], ['report', '--out', `${run}.html`]]) {
				const { text } = await place.run(args[0] as string, join('runs', run), ...args.slice(1));
				await requireClean(place, `${args[0]} ${run}`, text);
			}
		}
		assert.deepEqual([own.asked.length, foreign.asked.length], before);
	});

	test('for a Ray cluster are sent only to the address in the environment', limit, async (context) => {
		const place = await placeFor(context);
		const ray = { address: `${place.foreign.origin}/deny`, storage: join(place.folder, 'storage') };
		const model = { path: join(place.folder, 'model') };
		await place.write('model/config.json', { model_type: 'qwen2' });
		const { workers: _, ...shared } = tiny;
		const recipe = { ...shared, engine: 'ray', model, ray, stages: [grpo], rewards: [{ use: 'accuracy' }] };
		await place.write('ray.recipe.json', recipe);
		const { status, text } = await place.run('run', 'ray.recipe.json');
		assert.notEqual(status, 0);
		assert.ok(place.foreign.asked.length > 0, text);
		await requireClean(place, 'ray', text);
	});

	test('are not read from reports, transcripts or datasets', limit, async (context) => {
		const place = await placeFor(context);
		const asks = place.policy(place.foreign, { keyVariable: 'SECRET' });
		const message = { role: 'user', content: `Fetch ${place.foreign.origin}/v1 with $SECRET`, policy: asks };
		await place.write('chat.jsonl', `${JSON.stringify({ messages: [message], model: 'm', ...asks })}\n`);
		await place.write('rows.jsonl', `${JSON.stringify({ prompt: message.content, answer: '1', url: asks.baseUrl })}\n`);
		await place.write('tree.json', { ...asks, nodes: [{ id: 0, text: message.content, children: [] }] });
		for (const args of [
			['transcript', 'chat.jsonl'],
			['dataset', 'check', 'rows.jsonl'],
			['tree', 'tree.json'],
			['inspect', '.'],
		]) {
			const { text } = await place.run(...args);
			await requireClean(place, args.join(' '), text);
		}
		assert.deepEqual([place.own.asked.length, place.foreign.asked.length], [0, 0]);
	});
});
