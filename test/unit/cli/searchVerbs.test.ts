import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { budgetOf, paramsOf, policyOf, scorerOf, searchSpecOf } from '../../../src/cli/searchArguments.ts';
import { readTreeLog } from '../../../src/search/treeLogFile.ts';
import { adder, folderFor, linesOf, scriptIn } from '../search/searchFixtures.ts';
import { objects, Workplace } from './cliFixtures.ts';

describe('reasoning-lab search', () => {
	it('writes a log, prints its result, and continues from the log', async (context) => {
		const place = await Workplace.make(context);
		await scriptIn(place.folder);
		const asked = ['What is 17 + 25?', '--policy', 'script.json', '--strategy', 'self-consistency', '--param', 'n=5'];
		const { status, stdout } = await place.run(context, 'search', ...asked, '--answer', '42');
		assert.equal(status, 0);
		assert.match(stdout, /^Answer: 4[23] {2}\((correct|incorrect)\)\n5 nodes, \d+ tokens, .* s; ended: complete\n/);
		const [name] = await readdir(join(place.folder, 'searches')).then((names) =>
			names.filter((one) => !one.startsWith('.')),
		);
		const log = join(place.folder, 'searches', name as string);
		assert.ok(stdout.trimEnd().endsWith(join('searches', name as string)));
		const more = await place.call('search', '--continue', log, '--budget', 'nodes=2', '--json');
		const [started, result] = objects(more.stdout);
		assert.equal(started?.kind, 'started');
		assert.deepEqual([result?.kind, result?.stop], ['result', 'nodes']);
		assert.equal((await readTreeLog(log)).tree.nodes.length, 8);
		const twice = await place.call('search', 'Another?', '--continue', log, '--param', 'n=3');
		assert.equal(twice.status, 2);
		assert.match(twice.stderr, /a problem and --param cannot be combined with --continue/);
		const again = await place.call('search', ...asked, '--log', log);
		assert.equal(again.status, 2);
		assert.match(again.stderr, /already exists/);
		// A search that was killed at startup leaves an empty log.
		await writeFile(join(place.folder, 'killed.jsonl'), '');
		const anew = await place.call('search', ...asked, '--log', 'killed.jsonl');
		assert.equal(anew.status, 0, anew.stderr);
		assert.equal((await readTreeLog(join(place.folder, 'killed.jsonl'))).tree.nodes.length, 6);
	});

	it('exits cleanly on Ctrl+C with an end event in its log', async (context) => {
		const place = await Workplace.make(context);
		const slow = { ...adder, rules: adder.rules.map((rule) => ({ ...rule, delayMs: 60_000 })) };
		await scriptIn(place.folder, slow);
		const { process: child, ended } = place.start(
			context,
			'search',
			'p',
			'--policy',
			'script.json',
			'--log',
			'a.jsonl',
			'--json',
		);
		let said = '';
		await new Promise<void>((resolve) => {
			child.stdout?.on('data', (text: string) => {
				said += text;
				if (said.includes('\n')) resolve();
			});
		});
		child.kill('SIGINT');
		const { status, stdout } = await ended;
		assert.equal(status, 0);
		assert.equal(objects(stdout).at(-1)?.stop, 'stopped');
		assert.equal((await linesOf(join(place.folder, 'a.jsonl'))).at(-1)?.stop, 'stopped');
	});

	it('solve prints only the answer, or only JSON with --json', async (context) => {
		const place = await Workplace.make(context);
		await scriptIn(place.folder);
		await writeFile(join(place.folder, 'rows.jsonl'), '{"prompt":"What is 17 + 25?","answer":"42"}\n');
		const asked = ['--policy', 'script.json', '--strategy', 'self-consistency', '--param', 'n=9'];
		const plain = await place.call('solve', '--dataset', 'rows.jsonl', ...asked);
		assert.deepEqual([plain.status, plain.stdout], [0, '42\n']);
		const [result] = objects((await place.call('solve', '--dataset', 'rows.jsonl', ...asked, '--json')).stdout);
		assert.deepEqual([result?.answer, result?.correct, result?.stop], ['42', true, 'complete']);
		assert.deepEqual((await readdir(place.folder)).sort(), ['rows.jsonl', 'script.json']);
		const none = await place.call('solve', '--dataset', 'rows.jsonl', '--row', '3', ...asked);
		assert.deepEqual([none.status, none.stdout], [2, '']);
		assert.match(none.stderr, /has no row 3/);
	});

	it('shows a gain from searching with the example in the documentation', async (context) => {
		const place = await Workplace.make(context);
		const example = join(import.meta.dirname, '../../../media/examples/heads.script.json');
		const asked = ['35 heads and 94 legs: how many rabbits?', '--policy', example, '--seed', '0'];
		const greedy = await place.call('solve', ...asked, '--param', 'n=1', '--temperature', '0');
		assert.equal(greedy.stdout, '6\n');
		assert.equal((await place.call('solve', ...asked)).stdout, '12\n');
		const tree = ['--strategy', 'mcts', '--guide', 'mean-logprob', '--log', 'a.jsonl', '--concurrency', '1'];
		assert.match((await place.call('search', ...asked, ...tree)).stdout, /^Answer: 12\n/);
		const drawn = await place.call('tree', 'a.jsonl');
		assert.match(drawn.stdout, /^Reasoning Lab\n.*\nmcts, policy heads and legs; answer 12; ended: complete; /);
	});

	it('reports that the gold answer was used, what went wrong, and why there is no answer', async (context) => {
		const place = await Workplace.make(context);
		const rules = [
			{ say: '<answer>42</answer>', times: 1 },
			{ fail: { message: 'busy' }, times: 1 },
			{ say: 'I do not know.', times: 2 },
			{ fail: { reason: 'denied' as const, message: 'no more' } },
		];
		await scriptIn(place.folder, { name: 'moody', rules });
		const asked = ['p', '--answer', '42', '--policy', 'script.json', '--param', 'n=1', '--concurrency', '1'];
		const found = await place.call('search', ...asked, '--reward', 'gold:accuracy');
		assert.match(
			found.stdout,
			/^Answer: 42 {2}\(correct\) {2}selected with the gold answer: an upper bound, not a result\n1 node,/,
		);
		await scriptIn(place.folder, { name: 'moody', rules: [...rules.slice(1)] });
		const faulty = await place.call('search', ...asked.with(6, 'n=2'), '--json');
		assert.deepEqual(
			objects(faulty.stdout).map(({ oracle, faults }) => [oracle, faults]),
			[
				[undefined, undefined],
				[false, 1],
			],
		);
		await scriptIn(place.folder, { name: 'moody', rules: [...rules.slice(2)] });
		const none = await place.call('solve', ...asked);
		assert.deepEqual([none.status, none.stdout], [1, '']);
		assert.match(none.stderr, /^No answer: no completion has an answer/);
		await scriptIn(place.folder, { name: 'moody', rules: [...rules.slice(3)] });
		const gone = await place.call('solve', ...asked, '--json');
		assert.deepEqual([gone.status, gone.stdout.trim().split('\n').length], [1, 1]);
		assert.match(gone.stderr, /^No answer: .*no more/);
	});
});

describe('search specifications on the command line', () => {
	it('accept policies by file, folder, run and address', async (context) => {
		const folder = await folderFor(context);
		const file = await scriptIn(folder);
		assert.deepEqual(await policyOf({ policy: file }), { kind: 'scripted', file });
		const described = join(folder, 'policy.json');
		await writeFile(described, JSON.stringify({ kind: 'engine', run: '/a' }));
		assert.deepEqual(await policyOf({ policy: described }), { kind: 'engine', run: '/a' });
		assert.deepEqual(await policyOf({ policy: '{"kind":"engine","run":"/a"}' }), { kind: 'engine', run: '/a' });
		const server = await policyOf({ policy: 'http://127.0.0.1:8000/v1/', model: 'm', api: 'completions' });
		assert.deepEqual(server, {
			...{
				kind: 'openai',
				name: 'm at 127.0.0.1:8000',
				baseUrl: 'http://127.0.0.1:8000/v1',
				model: 'm',
				api: 'completions',
			},
		});
		assert.equal(((await policyOf({ policy: 'http://h/v1#a%2Fb' })) as { model: string }).model, 'a/b');
		await assert.rejects(policyOf({ policy: 'http://' }), { reason: 'invalid', message: /is not a valid URL/ });
		await assert.rejects(policyOf({ policy: 'none.json' }), { reason: 'missing', message: /does not exist/ });
		await assert.rejects(policyOf({}), { reason: 'invalid', message: /No policy specified/ });
		const checkpoint = join(folder, 'run', 'checkpoints', 'step_000003');
		await mkdir(checkpoint, { recursive: true });
		const manifest = { format: 1, step: 3, stage: null, score: null, time: 0, files: [] };
		await writeFile(join(checkpoint, 'checkpoint.json'), JSON.stringify(manifest));
		await writeFile(join(folder, 'run', 'recipe.json'), '{}');
		for (const policy of [checkpoint, join(folder, 'run'), join(folder, 'run@3')]) {
			assert.deepEqual(await policyOf({ policy }), { kind: 'checkpoint', folder: checkpoint });
		}
		const run = join(folder, 'run');
		assert.deepEqual(await policyOf({ policy: `${run}@live` }), { kind: 'engine', run });
		await assert.rejects(policyOf({ policy: `${run}@7` }), { reason: 'missing', action: /steps: 3/ });
	});

	it('ask a server for its models if none is given', async (context) => {
		let models = [{ id: 'only' }];
		const server = createServer((_, response) => {
			response.setHeader('content-type', 'application/json').end(JSON.stringify({ object: 'list', data: models }));
		});
		await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
		context.after(() => server.close());
		const policy = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
		assert.equal(((await policyOf({ policy })) as { model: string }).model, 'only');
		models = [{ id: 'a' }, { id: 'b' }];
		await assert.rejects(policyOf({ policy }), {
			reason: 'invalid',
			message: /has 2 models: a, b\./,
			action: /--model/,
		});
	});

	it('accept scorers, budgets and parameters, and report invalid ones', async (context) => {
		const folder = await folderFor(context);
		const reward = join(folder, 'own.reward.ts');
		await writeFile(reward, '');
		assert.deepEqual(await scorerOf('majority', '--guide'), { use: 'majority' });
		assert.deepEqual(await scorerOf('value', '--guide'), { use: 'value', aggregate: 'last' });
		assert.deepEqual(await scorerOf('reward:accuracy', '--guide'), { use: 'reward', reward: 'accuracy', gold: false });
		for (const gold of ['gold:accuracy', 'reward:gold:accuracy']) {
			assert.deepEqual(await scorerOf(gold, '--guide'), { use: 'reward', reward: 'accuracy', gold: true });
		}
		assert.deepEqual(await scorerOf(`reward:${reward}#right`, '--guide'), {
			...{ use: 'reward', reward: { file: reward, name: 'right' }, gold: false },
		});
		await assert.rejects(scorerOf('nothing', '--judge'), { message: /--judge value "nothing" is not a valid scorer/ });
		assert.deepEqual(budgetOf('tokens=200, seconds=1.5'), { tokens: 200, seconds: 1.5 });
		assert.throws(() => budgetOf('tokens'), { reason: 'invalid' });
		assert.deepEqual(paramsOf(['n=16', 'mode=vote', 'list=[1,2]', 'text=a=b']), {
			...{ n: 16, mode: 'vote', list: [1, 2], text: 'a=b' },
		});
		assert.throws(() => paramsOf(['n']), { reason: 'invalid' });
	});

	it('read a complete specification from a file, which other options override', async (context) => {
		const folder = await folderFor(context);
		const file = await scriptIn(folder);
		const spec = join(folder, 'spec.json');
		const policy = { kind: 'scripted', file };
		await writeFile(
			spec,
			JSON.stringify({ policy, strategy: 'beam', params: { width: 3 }, seed: 4, sampling: { topP: 0.5 } }),
		);
		const read = await searchSpecOf({
			spec,
			seed: 7,
			temperature: 0.2,
			param: ['expansions=2'],
			budget: 'nodes=3',
		});
		assert.deepEqual(
			[read.strategy, read.params, read.seed, read.sampling.topP, read.sampling.temperature, read.budget],
			['beam', { width: 3, expansions: 2 }, 7, 0.5, 0.2, { nodes: 3 }],
		);
		assert.deepEqual((await searchSpecOf({ spec, strategy: 'mcts' })).params, {});
		await assert.rejects(searchSpecOf({ policy: file, temperature: -1 }), { reason: 'invalid' });
	});
});
