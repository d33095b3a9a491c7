/** Tests the MCP server as a separate process with the official client. */
import assert from 'node:assert/strict';
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { parseAddress } from '../../../src/core/address/dataAddress.ts';
import { openLink } from '../../../src/core/address/openLink.ts';
import { toolsFor } from '../../../src/mcp/tools.ts';
import { mcpCalls } from '../../support/mcpCalls.ts';
import { makeMcpFolder, mcpEnvironment, mcpSearch, mcpTree } from '../../support/mcpFolder.ts';
import { builtProgram } from '../../support/programs.ts';
import { makeBatch, writeRun } from '../webview/rollouts/rolloutsFixture.ts';

const program = builtProgram('dist/cli.js');
let folder = '';
let client: Client;

before(async () => {
	folder = await makeMcpFolder();
	client = new Client({ name: 'test', version: '1' });
	await client.connect(
		new StdioClientTransport({
			command: process.execPath,
			args: [program, 'mcp', '--folder', join(folder, 'work')],
			env: mcpEnvironment(folder),
		}),
	);
});

after(async () => {
	await client?.close();
	await rm(folder, { recursive: true, force: true });
});

/** Calls a tool and returns its result; a failed call throws its text. */
async function call(name: string, args: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
	const { content, structuredContent, isError } = await client.callTool({ name, arguments: args });
	const [block] = content;
	assert.equal(block?.type, 'text');
	if (isError) throw new Error(block.text);
	assert.deepEqual(JSON.parse(block.text), structuredContent);
	return structuredContent as Record<string, unknown>;
}

type Quoted = { readonly quoted_text: readonly string[] };
type Items = readonly Record<string, unknown>[];

/** Returns all items of a paged tool. */
async function pages(
	name: string,
	args: Record<string, unknown>,
	limit: number,
	onPage: () => void = () => undefined,
): Promise<Items> {
	const all: Record<string, unknown>[] = [];
	for (let cursor: number | undefined = 0; cursor !== undefined; ) {
		const answer: Record<string, unknown> = await call(name, { ...args, limit, cursor });
		const items = answer.items as Items;
		onPage();
		assert.ok(items.length > 0 && items.length <= limit);
		all.push(...items);
		cursor = answer.next_cursor as number | undefined;
	}
	return all;
}

describe('MCP server', () => {
	it('lists its tools, all read-only, with schemas and descriptions', async () => {
		const { tools } = await client.listTools();
		assert.deepEqual(
			tools.map(({ name }) => name),
			toolsFor(false, false).map(({ name }) => name),
		);
		for (const { name, description, inputSchema, annotations } of tools) {
			assert.ok((description ?? '').length > 40, name);
			assert.equal(inputSchema.type, 'object');
			assert.equal(annotations?.readOnlyHint, true);
		}
	});

	it('answers calls to every tool, page by page, in agreement with the files', async () => {
		const { tools } = await client.listTools();
		// Fails for a tool without a call.
		assert.deepEqual(tools.map(({ name }) => name).toSorted(), Object.keys(mcpCalls).toSorted());
		for (const [name, { arguments: args, limit, check }] of Object.entries(mcpCalls)) {
			if (limit === undefined) {
				check((await call(name, args)) as Parameters<typeof check>[0]);
				continue;
			}
			let count = 0;
			const items = await pages(name, args, limit, () => count++);
			check({ items, pages: count });
		}
	});

	it('puts links next to addresses for clients that open them, and explains what they are for', async () => {
		const linking = new Client({ name: 'test', version: '1' });
		await linking.connect(
			new StdioClientTransport({
				command: process.execPath,
				args: [program, 'mcp', '--folder', join(folder, 'work')],
				env: { ...mcpEnvironment(folder), REASONING_LAB_LINK_SCHEME: 'code-oss' },
			}),
		);
		try {
			assert.match(linking.getInstructions() ?? '', /\[TEXT\]\(LINK\)/);
			assert.doesNotMatch(client.getInstructions() ?? '', /LINK/);
			const table = { run: 'sums', names: ['reward'], as: 'table', points: 2 };
			const { structuredContent } = await linking.callTool({ name: 'read_metrics', arguments: table });
			const plain = await call('read_metrics', table);
			assert.deepEqual(structuredContent, {
				...plain,
				links: [null, openLink('code-oss', 'rl://sums/metric/reward')],
			});
		} finally {
			await linking.close();
		}
	});

	it('lists runs from every trainer, page by page', async () => {
		const runs = await pages('list_runs', {}, 2);
		assert.deepEqual(runs.map(({ run, trainer, status }) => [run, trainer, status]).toSorted(), [
			['other', 'Reasoning Lab (embedded)', 'finished'],
			['sums', 'Reasoning Lab (embedded)', 'finished'],
			['trl', 'TRL', 'finished'],
		]);
	});

	it('describes the steps and metrics of a run and what its trainer does not record', async () => {
		const own = await call('describe_run', { run: 'sums' });
		assert.deepEqual(own.rollout_steps, { count: 4, first: 1, last: 4 });
		assert.ok((own.metrics as Quoted).quoted_text.includes('reward'));
		const trl = await call('describe_run', { run: 'trl' });
		assert.ok((trl.notes as Quoted).quoted_text.some((note) => /records no groups/.test(note)));
	});

	it('summarizes metrics and samples them as tables', async () => {
		const { metrics } = await call('read_metrics', { run: 'trl', names: ['reward'] });
		const [reward] = metrics as readonly Record<string, unknown>[];
		assert.equal(reward?.count, 30);
		assert.equal(reward?.max_step, 18);
		const table = await call('read_metrics', { run: 'trl', names: ['reward'], as: 'table', points: 4 });
		assert.deepEqual(
			(table.items as number[][]).map(([step]) => step),
			[1, 11, 20, 30],
		);
		await assert.rejects(
			call('read_metrics', { run: 'trl', names: ['rewrd'] }),
			/no metric.*Did you mean \\"reward\\"/,
		);
	});

	it('reads steps, groups, completions and token ranges, with addresses that resolve to them', async () => {
		const expected = makeBatch({ step: 3, groups: 3, size: 4, skill: 0.25 + (0.6 * 3) / 4 });
		const groups = await pages('read_step', { run: 'sums', step: 3 }, 2);
		assert.equal(groups.length, 3);
		const completions = await pages('read_group', { run: 'sums', step: 3, group: 1 }, 3);
		assert.deepEqual(
			completions.map(({ reward, text }) => [reward, (text as { quoted_text: string }).quoted_text]),
			expected.filter(({ group }) => group === 1).map(({ reward, completion }) => [reward, completion]),
		);
		const address = parseAddress(completions[2]?.address as string);
		assert.ok(address.kind === 'completion');
		const { run, step, group, completion } = address;
		const one = await call('read_completion', { run, step, group, completion, first_token: 2, last_token: 5 });
		const line = expected.find((each) => each.group === 1 && each.index === 2);
		const range = one.token_range as { quoted_text: string[]; entropy: number[] };
		assert.deepEqual(range.quoted_text, line?.tokens?.text.slice(2, 6));
		assert.deepEqual(range.entropy, line?.tokens?.entropy?.slice(2, 6));
		assert.equal(one.address, 'rl://sums/step/3/group/1/completion/2#tokens=2-5');
		const rest = await call('read_completion', { run, step, group, completion, offset: 10, characters: 5 });
		const part = rest.text as { quoted_text: string; next_offset: number };
		assert.deepEqual([part.quoted_text, part.next_offset], [String(line?.completion).slice(10, 15), 15]);
	});

	it('addresses completions by index, even after an unreadable one', async () => {
		const path = join(folder, 'work/runs/other/rollouts/step_000002.jsonl');
		const text = await readFile(path, 'utf8');
		const [first, second, ...rest] = text.split('\n');
		await writeFile(path, ['{"torn', second, ...rest].join('\n'));
		const [only, ...others] = await pages('read_group', { run: 'other', step: 2, group: 0 }, 5);
		await writeFile(path, [first, second, ...rest].join('\n'));
		assert.deepEqual(others, []);
		assert.equal(only?.address, 'rl://other/step/2/group/0/completion/1');
	});

	it('queries the index and searches text', async () => {
		const { items: rows, addresses } = await call('query', {
			sql: 'select run, split, step, group_id, index, reward from rollouts order by step, group_id, index limit 3',
			runs: ['sums'],
		});
		assert.equal((rows as unknown[]).length, 3);
		assert.equal((addresses as string[])[2], 'rl://sums/step/1/group/0/completion/2');
		const addressesOf = async (sql: string) => {
			const answer = await call('query', { sql, runs: ['sums'] });
			assert.ok('addresses' in answer !== 'note' in answer, JSON.stringify(answer));
			return (answer.addresses as (string | null)[] | undefined)?.[0] ?? null;
		};
		const ofSums = "where run = 'sums' group by all order by step";
		assert.equal(await addressesOf(`select run, split, step, avg(reward) from rollouts ${ofSums}`), 'rl://sums/step/1');
		assert.equal(await addressesOf(`select run, step, avg(reward) from rollouts ${ofSums}`), 'rl://sums/step/1');
		assert.equal(
			await addressesOf(`select run, split, step, group_id, max(tokens) from rollouts ${ofSums}, group_id`),
			'rl://sums/step/1/group/0',
		);
		const metric = "from metrics where run = 'sums' and name = 'reward' order by step";
		assert.equal(await addressesOf(`select run, step, name, value ${metric}`), 'rl://sums/metric/reward?step=1');
		// Computed values have no address, nor do rows that do not name their data.
		assert.equal(await addressesOf(`select run, step, name, value + 1 as value ${metric}`), null);
		assert.equal(await addressesOf(`select step, avg(reward) from rollouts ${ofSums}`), null);
		assert.equal(await addressesOf("select 'none' as run, 'train' as split, 1 as step"), null);
		const found = await call('search_text', { pattern: 'Let me check that again', runs: ['sums'], limit: 5 });
		const lines = [1, 2, 3, 4].flatMap((step) =>
			makeBatch({ step, groups: 3, size: 4, skill: 0.25 + (0.6 * step) / 4 }),
		);
		const holding = lines.filter(({ completion }) => String(completion).includes('Let me check that again'));
		assert.ok(holding.length > 5);
		assert.equal((found.items as unknown[]).length, 5);
		await assert.rejects(call('query', { sql: 'drop table rollout' }), /denied|only/i);
		await assert.rejects(call('query', { sql: "from read_csv('/etc/passwd')" }), /error/);
	});

	it('diagnoses, compares runs and checks recipes', async () => {
		const { findings, result } = await call('diagnose_run', { run: 'trl' });
		assert.equal(result, 'alerts');
		assert.match((findings as { address: string }[])[0]?.address ?? '', /^rl:\/\/trl\/step\/\d+$/);
		const compared = await call('compare_runs', { runs: ['sums', 'other'] });
		assert.equal((compared.runs as unknown[]).length, 2);
		const checked = await call('check_recipe', { text: '{"name": "x", "dataset": {"task": "addition"}}' });
		assert.equal(checked.valid, false);
		assert.ok((checked.errors as { message: string }[]).some(({ message }) => /stages/.test(message)));
	});

	it('reads datasets only inside its folders', async () => {
		const rows = await pages('read_dataset', { path: 'train.jsonl' }, 10);
		assert.equal(rows.length, 26);
		assert.match(JSON.stringify(rows[3]?.values), /3\+1=/);
		assert.ok(rows[25]?.error);
		const where = [{ column: 'answer', operator: '>=', value: '20' }];
		const chosen = await pages('read_dataset', { path: 'train.jsonl', where, sort: 'answer', descending: true }, 4);
		assert.deepEqual(
			chosen.map(({ row }) => row),
			[24, 23, 22, 21, 20, 19],
		);
		assert.equal(chosen[0]?.address, 'rl:///dataset/train.jsonl/row/24');
		const found = await call('read_dataset', { path: 'train.jsonl', text: '11+1' });
		assert.deepEqual([found.matching_rows, found.rows], [1, 26]);
		const wrong = { path: 'train.jsonl', where: [{ column: 'anwser', operator: 'is empty' }] };
		await assert.rejects(call('read_dataset', wrong), /no column \\"anwser\\".*prompt, answer/);
		for (const path of [join(folder, 'secret.jsonl'), '../secret.jsonl', 'link.jsonl', '/etc/passwd']) {
			await assert.rejects(call('read_dataset', { path }), /"(denied|missing)"/, path);
		}
	});

	it('reads trees sorted by value, their nodes, and evaluations', async () => {
		const nodes = await pages('read_tree', { run: 'sums', search: mcpSearch, order: 'value' }, 10);
		const values = nodes.map(({ q }) => (q as number | null) ?? Number.NEGATIVE_INFINITY);
		assert.deepEqual(
			values,
			values.toSorted((a, b) => b - a),
		);
		const leaf = nodes.find(({ children }) => children === 0) as { node: number; address: string };
		const address = parseAddress(leaf.address);
		assert.ok(address.kind === 'search' && address.run === 'sums' && address.node === leaf.node);
		const node = await call('read_tree_node', { run: 'sums', search: mcpSearch, node: leaf.node });
		const path = node.path as number[];
		assert.deepEqual([path[0], path.at(-1)], [0, leaf.node]);
		const thoughts = mcpTree.flatMap((event) =>
			event.t === 'node' && path.slice(1).includes(event.id) ? [event.text] : [],
		);
		assert.equal((node.completion as { quoted_text: string }).quoted_text, thoughts.join(''));
		await assert.rejects(call('read_tree_node', { run: 'sums', search: mcpSearch, node: 999 }), /no node 999/);
		for (const search of ['../../other/run.json', '../run.json']) {
			await assert.rejects(call('read_tree', { run: 'sums', search }), /not a file name/);
		}
		await assert.rejects(call('read_tree', { search: join(folder, 'secret.jsonl') }), /"denied"/);
		const wrong = await pages('read_evaluation', { run: 'sums', name: 'heldout', step: 2, only: 'incorrect' }, 1);
		assert.deepEqual(
			wrong.map(({ problem, sample }) => [problem, sample]),
			[[0, 1]],
		);
		await assert.rejects(call('read_evaluation', { run: 'sums', name: 'heldout', step: 3 }), /no evaluation heldout/);
	});

	it('names the line of a recipe that sets a key', async () => {
		const { items } = await call('read_recipe', {
			path: 'small.recipe.json',
			keys: ['stages.0.learning_rate', 'stages[0].beta', 'name'],
		});
		assert.deepEqual(
			(items as Items).map(({ key, line, exact }) => [key, line, exact]),
			[
				['stages.0.learning_rate', 3, true],
				['stages.0.beta', 3, false],
				['name', 2, true],
			],
		);
		await assert.rejects(call('read_recipe', { run: 'trl' }), /"missing"/);
		await assert.rejects(call('read_recipe', { path: join(folder, 'secret.jsonl') }), /"denied"/);
		await assert.rejects(call('read_recipe', {}), /run or path/);
	});

	it('tests whether two evaluations differ, and cites them', async () => {
		const [first, second] = [2, 4].map((step) => ({ run: 'sums', evaluation: `held-out-step-${step}` }));
		const compared = await call('compare_evaluations', { first, second });
		// 2 (1 + 3) / 2^3 = 1.
		const { test, problems, gained, lost, p, better } = compared;
		assert.deepEqual([test, problems, gained, lost, p, better], ['mcnemar', 10, 2, 1, 1, null]);
		const { address, accuracy } = compared.second as { address: string; accuracy: number };
		assert.deepEqual([address, accuracy], ['rl://sums/evaluation/held-out-step-4', 0.5]);
		const text = `It solves [50%](${address}) of [10](${address}) problems, not [60%](${address}); rl://sums/evaluation/gone`;
		const { items } = await call('check_citations', { text });
		assert.deepEqual(
			(items as Items).map(({ status }) => status),
			['ok', 'ok', 'different', 'unresolved'],
		);
		await assert.rejects(call('compare_evaluations', { first, second: first }), /Both evaluations are the same/);
		await assert.rejects(call('compare_evaluations', { first, second: { run: 'sums' } }), /name and step/);
	});

	it('explains recipe keys and checks recipe files', async () => {
		const { items } = await call('explain_recipe_key', { key: 'stages[0].grpo.beta' });
		assert.deepEqual(
			(items as Items).map(({ path, default: usual }) => [path, usual]),
			[['stages[grpo].beta', '0']],
		);
		await assert.rejects(call('explain_recipe_key', { key: 'num_generation' }), /Did you mean \\"num_generations\\"/);
		await writeFile(join(folder, 'work/a.recipe.json'), '{"name": "x"');
		const checked = await call('check_recipe', { path: 'a.recipe.json' });
		assert.equal(checked.valid, false);
		await assert.rejects(call('check_recipe', { path: join(folder, 'secret.jsonl') }), /"denied"/);
		await assert.rejects(call('check_recipe', {}), /text or path/);
	});

	it('checks citations against the data', async () => {
		const [line] = makeBatch({ step: 1, groups: 3, size: 4, skill: 0.4 });
		const reward = line?.reward as number;
		const place = 'rl://sums/step/1/group/0/completion/0';
		const text = [
			`A reward of ${reward} (${place}), but not ${reward + 0.1} (${place}).`,
			`Accuracy is [75%](rl://sums/evaluation/heldout?step=2); [0.381](rl://sums/evaluation/heldout?step=2) is its lower end.`,
			'Nothing is quoted from <rl://sums>, and `rl://sums/file/metrics.jsonl` has no 17 (rl://sums/file/metrics.jsonl).',
			'rl://gone/step/1, rl://sums/step/99, rl://sums/metric/rewrd and rl://sums/step/x',
		].join('\n');
		const { items, sound, problems } = await call('check_citations', { text });
		assert.deepEqual(
			(items as Items).map(({ status, line }) => [line, status]),
			[
				[1, 'ok'],
				[1, 'different'],
				[2, 'ok'],
				[2, 'ok'],
				[3, 'no-number'],
				[3, 'no-number'],
				[3, 'no-data'],
				...['unresolved', 'unresolved', 'unresolved', 'malformed'].map((status) => [4, status]),
			],
		);
		assert.deepEqual([sound, problems], [false, 5]);
	});

	it('reads run files and documentation as resources, in parts', async () => {
		const reports = join(folder, 'work/runs/sums/annotations/reports');
		await mkdir(reports, { recursive: true });
		for (const name of ['findings.md', 'not a name.md', 'notes.txt'])
			await writeFile(join(reports, name), 'Rewards rise.');
		await symlink(join(folder, 'secret.jsonl'), join(reports, 'linked.md'));
		const { resources } = await client.listResources();
		const listed = resources.filter(({ uri }) => uri.includes('/report/'));
		assert.deepEqual(
			listed.map(({ uri, name, mimeType }) => [uri, name, mimeType]),
			[['rl://sums/report/findings', 'sums/reports/findings', 'text/markdown']],
		);
		const uris = resources.map(({ uri }) => uri);
		assert.ok(uris.includes('rl://sums/file/metrics.jsonl'));
		assert.ok(uris.includes('docs://reasoning-lab/recipe.md'));
		const whole = async (first: string) => {
			let text = '';
			for (let uri: string | undefined = first; uri !== undefined; ) {
				const { contents } = await client.readResource({ uri });
				const [part] = contents;
				assert.ok(part !== undefined && 'text' in part);
				text += part.text;
				uri = part._meta?.['reasoning-lab/next'] as string | undefined;
			}
			return text;
		};
		assert.equal(await whole('rl://sums/report/findings'), 'Rewards rise.');
		const large = `${'ä'.repeat(50_000)}\n${'{"a": 1}\n'.repeat(20_000)}`;
		await writeFile(join(folder, 'work/runs/sums/notes.txt'), large);
		assert.equal(await whole('rl://sums/file/notes.txt'), large);
		assert.equal(await whole('docs://reasoning-lab/recipe.md'), await readFile('docs/recipe.md', 'utf8'));
		const step = join(folder, 'work/runs/sums/rollouts/step_000001.jsonl');
		assert.equal(await whole('rl://sums/file/rollouts%2Fstep_000001.jsonl'), await readFile(step, 'utf8'));
		await symlink(join(folder, 'secret.jsonl'), join(folder, 'work/runs/sums/link.jsonl'));
		for (const [uri, why] of [
			['rl://sums/file/..%2F..%2F..%2Fsecret.jsonl', /not inside the run folder/],
			['rl://sums/file/link.jsonl', /not a regular file/],
			['rl://sums/file/gone.txt', /Cannot read/],
			['rl://gone/file/run.json', /Unknown run/],
			['rl://sums/file/run.json?offset=999999', /has only/],
			['docs://reasoning-lab/..%2Fpackage.json', /no page/],
			['file:///etc/passwd', /not found|unknown/i],
		] as const) {
			await assert.rejects(client.readResource({ uri }), why, uri);
		}
	});

	it('rejects impossible requests with a reason and an action', async () => {
		await assert.rejects(call('describe_run', { run: '/etc' }), /Unknown run.*list_runs/);
		await assert.rejects(call('read_step', { run: 'sums', step: 99 }), /"missing"/);
		await assert.rejects(call('read_group', { run: 'sums', step: 1, group: 77 }), /no group 77.*read_step/);
		await assert.rejects(call('read_group', { run: 'sums', step: 1, group: 0, limit: 1_000_000 }), /limit/);
		await assert.rejects(
			call('read_completion', { run: 'trl', step: 1, group: 0, completion: 0, first_token: 0 }),
			/tokens/,
		);
	});

	it('notices a deleted run', async () => {
		const path = join(folder, 'work/runs/gone');
		await writeRun(path, [1], { groups: 1, size: 2 });
		// The run list is cached for several seconds; once the run is listed, request it by its folder.
		const listed = async () => (await pages('list_runs', {}, 50)).some(({ run }) => run === 'gone');
		while (!(await listed())) await new Promise((resolve) => setTimeout(resolve, 250));
		await rm(path, { recursive: true });
		await assert.rejects(call('read_step', { run: 'gone', step: 1 }), /"missing"/);
	});

	it('has prompts that mention their arguments', async () => {
		const { prompts } = await client.listPrompts();
		assert.equal(prompts.length, 4);
		for (const { name, arguments: declared = [] } of prompts) {
			const values = Object.fromEntries(declared.map((one, i) => [one.name, `value-${i}`]));
			const { messages } = await client.getPrompt({ name, arguments: values });
			const text = JSON.stringify(messages);
			assert.ok(declared.length > 0 && Object.values(values).every((value) => text.includes(value)), text);
			for (const [, tool = ''] of text.matchAll(/\b([a-z]+(?:_[a-z]+)+)\b/g)) {
				if (tool === 'quoted_text') continue;
				assert.ok(
					toolsFor(true, true).some((one) => one.name === tool),
					`${name} mentions ${tool}`,
				);
			}
		}
		await assert.rejects(client.getPrompt({ name: 'compare_runs', arguments: { first: 'sums' } }), /second/);
	});
});
