/** Tests the MCP server as a separate process with the official client. */
import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { parseAddress } from '../../../src/core/address/dataAddress.ts';
import { tools as declared } from '../../../src/mcp/tools.ts';
import { root } from '../../scripts/paths.ts';
import { builtProgram } from '../../support/programs.ts';
import { makeBatch, writeRun } from '../webview/rollouts/rolloutsFixture.ts';

const program = builtProgram('dist/cli.js');
let folder = '';
let client: Client;

before(async () => {
	folder = await mkdtemp(join(tmpdir(), 'mcp-'));
	await mkdir(join(folder, 'work/runs'), { recursive: true });
	await writeRun(join(folder, 'work/runs/sums'), [1, 2, 3, 4], { groups: 3, size: 4 });
	await writeRun(join(folder, 'work/runs/other'), [1, 2], { groups: 2, size: 2, seed: 9 });
	await cp(join(root, 'test/fixtures/trl-run'), join(folder, 'work/trl'), { recursive: true });
	const rows = Array.from({ length: 25 }, (_, i) => JSON.stringify({ prompt: `${i}+1=`, answer: `${i + 1}` }));
	await writeFile(join(folder, 'work/train.jsonl'), `${rows.join('\n')}\n{"broken\n`);
	await writeFile(join(folder, 'secret.jsonl'), '{"secret":1}\n');
	await symlink(join(folder, 'secret.jsonl'), join(folder, 'work/link.jsonl'));
	client = new Client({ name: 'test', version: '1' });
	const home = join(folder, 'home');
	await client.connect(
		new StdioClientTransport({
			command: process.execPath,
			args: [program, 'mcp', '--folder', join(folder, 'work')],
			env: { ...process.env, REASONING_LAB_HOME: home } as Record<string, string>,
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

type Items = readonly Record<string, unknown>[];

/** Returns all items of a paged tool. */
async function pages(name: string, args: Record<string, unknown>, limit: number): Promise<Items> {
	const all: Record<string, unknown>[] = [];
	for (let cursor: number | undefined = 0; cursor !== undefined; ) {
		const answer: Record<string, unknown> = await call(name, { ...args, limit, cursor });
		const items = answer.items as Items;
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
			declared.map(({ name }) => name),
		);
		for (const { name, description, inputSchema, annotations } of tools) {
			assert.ok((description ?? '').length > 40, name);
			assert.equal(inputSchema.type, 'object');
			assert.equal(annotations?.readOnlyHint, true);
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
		assert.ok((own.metrics as string[]).includes('reward'));
		const trl = await call('describe_run', { run: 'trl' });
		assert.ok((trl.notes as string[]).some((note) => /records no groups/.test(note)));
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
		const { rows, addresses } = await call('query', {
			sql: 'select run, split, step, group_id, index, reward from rollouts order by step, group_id, index limit 3',
			runs: ['sums'],
		});
		assert.equal((rows as unknown[]).length, 3);
		assert.equal((addresses as string[])[2], 'rl://sums/step/1/group/0/completion/2');
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

	it('reads only datasets below its folders', async () => {
		const rows = await pages('read_dataset', { path: 'train.jsonl' }, 10);
		assert.equal(rows.length, 26);
		assert.match(JSON.stringify(rows[3]?.values), /3\+1=/);
		assert.ok(rows[25]?.error);
		for (const path of [join(folder, 'secret.jsonl'), '../secret.jsonl', 'link.jsonl', '/etc/passwd']) {
			await assert.rejects(call('read_dataset', { path }), /"(denied|missing)"/, path);
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
		const { messages } = await client.getPrompt({ name: 'diagnose_run', arguments: { run: 'sums' } });
		assert.match(JSON.stringify(messages), /Diagnose the training run.*sums/);
	});
});
