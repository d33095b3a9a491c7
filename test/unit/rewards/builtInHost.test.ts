import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import * as esbuild from 'esbuild';
import { bundles } from '../../../esbuild.mjs';
import { buildTokenizer } from '../../../src/core/text/vocabulary.ts';
import { parseTrace } from '../../../src/core/trace/parseTrace.ts';
import type { ScoreRow } from '../../../src/protocol/scorer.ts';
import { type BuiltInEntry, createBuiltIn } from '../../../src/rewards/builtIns.ts';
import type { RewardHosts } from '../../../src/rewards/rewardHosts.ts';
import { cache } from '../../scripts/paths.ts';
import { chatReply, codeOf, messageOf, ScriptedServer } from '../../support/scriptedServer.ts';
import { writeStepModel } from '../../support/stepModel.ts';
import { strangeCompletions, worked } from '../core/reward/rewardSamples.ts';
import { context, openHosts, rewardFolder } from './hostFixtures.ts';

/** Installed bundles; the host runs from a copy elsewhere. */
const dist = join(cache, `builtInHost-${process.pid}`);
let server: ScriptedServer;
let hosts: RewardHosts;

before(async () => {
	await esbuild.build({ ...bundles({ dist }).rewardHost, write: true });
	server = await ScriptedServer.start((asked) =>
		chatReply(`VERDICT ${codeOf(asked)}: ${messageOf(asked).includes('\nseven\n') ? 'YES' : 'NO'}`),
	);
	hosts = await openHosts({
		folder: dist,
		environment: { ...process.env, REASONING_LAB_API_KEYS: JSON.stringify({ [server.origin]: 'the-key' }) },
	});
});
after(async () => {
	await server.stop();
	rmSync(dist, { recursive: true, force: true });
});

const rowOf = (completion: string): ScoreRow => ({
	prompt: 'q',
	completion,
	answer: '7',
	row: { options: ['1', '7'] },
	truncated: false,
});
const never = new AbortController().signal;

describe('built-in rewards in a bundled host process', () => {
	it('score rows that were sent once for all rewards, without mixing up different rows or processes', async () => {
		const entries: BuiltInEntry[] = [
			{ use: 'accuracy', name: 'accuracy' },
			{ use: 'format', name: 'format' },
			{ use: 'judge', name: 'judge', url: `${server.origin}/v1`, model: 'm' } as BuiltInEntry,
		];
		const runner = hosts.open({ builtIns: entries, context });
		const scores = async (rows: readonly ScoreRow[]) => [
			(await runner.score('accuracy', rows)).values,
			(await runner.score('format', rows)).values,
		];
		const first = [rowOf('<think>a</think><answer>7</answer>'), rowOf('no')];
		const second = [rowOf('<think>a</think><answer>8</answer>'), first[0] as ScoreRow];
		assert.deepEqual(await scores(first), [
			[1, 0],
			[1, 0],
		]);
		assert.deepEqual(await scores(second), [
			[0, 1],
			[1, 1],
		]);
		assert.deepEqual((await runner.score('accuracy', first)).values, [1, 0]);
		for (let wait = 1; wait <= 6; wait++) {
			// Rows sent in a canceled request must not be mistaken for earlier rows.
			const gone = new AbortController();
			const fresh = [...second];
			const given = runner.score('judge', fresh, { signal: gone.signal });
			setTimeout(() => gone.abort(), wait);
			await given.catch(() => undefined);
			assert.deepEqual((await runner.score('accuracy', first)).values, [1, 0], `cancelled after ${wait} ms`);
		}
		runner.reload();
		assert.deepEqual((await runner.score('format', first)).values, [1, 0]);
		runner.dispose();
	});

	it('return the same values as in this process', async () => {
		const entries: BuiltInEntry[] = [
			{ use: 'accuracy', name: 'accuracy' },
			{ use: 'format', name: 'format' },
			{ use: 'exact-match', name: 'exact' },
			{ use: 'multiple-choice', name: 'choice' },
			{ use: 'tag-count', name: 'tags' },
			{ use: 'language-consistency', name: 'english' },
			{ use: 'language-consistency', name: 'german', language: 'de' },
			{ use: 'soft-overlong', name: 'overlong', maxLength: 40, cacheLength: 30 },
			{ use: 'length-target', name: 'length', target: 20 },
			{ use: 'cosine-length', name: 'cosine', maxLength: 60 },
			{ use: 'repetition', name: 'repetition' },
			{ use: 'json-schema', name: 'json', schema: { type: 'number', minimum: 7 } },
			{ use: 'reflection', name: 'reflection' },
		];
		const rows = [worked('3+4 is 7, wait.', '7'), worked('', '3'), ...strangeCompletions('host', 60)].map(rowOf);
		const runner = hosts.open({ builtIns: entries, context });
		assert.deepEqual(
			(await runner.describe()).map(({ name }) => name),
			entries.map(({ name }) => name),
		);
		for (const entry of entries) {
			const { values, errors } = await runner.score(entry.name, rows);
			assert.deepEqual(errors, [], entry.name);
			const here = await createBuiltIn(entry, context);
			const expected = await Promise.all(
				rows.map((row) => here.score({ ...row, trace: parseTrace(row.completion, context.tags) }, never)),
			);
			assert.deepEqual(values, expected, entry.name);
		}
	});

	it('query a judge with the key for its origin, and log the cost', async () => {
		const judge = { use: 'judge', name: 'judge', url: `${server.origin}/v1`, model: 'm', inputPrice: 1 };
		const runner = hosts.open({ builtIns: [judge], context });
		const rows = [worked('', 'seven'), worked('', 'eight'), worked('', 'seven')].map(rowOf);
		const { values, logs } = await runner.score('judge', rows);
		assert.deepEqual(values, [1, 0, 1]);
		assert.ok(
			logs.some((line) => line.startsWith('judge: 2 replies')),
			logs.join('\n'),
		);
		assert.deepEqual(new Set(server.asked.map(({ headers }) => headers.authorization)), new Set(['Bearer the-key']));
		assert.doesNotMatch(logs.join('\n'), /the-key/);
	});

	it('run an ONNX model with the installed runtime', async () => {
		const folder = await rewardFolder();
		const template = { name: 'r1', prompt: '{prompt}', ...context.tags };
		const tokenizer = buildTokenizer(template, ['q12\n']);
		const two = tokenizer.encode('2')[0];
		writeStepModel(join(folder, 'prm'), tokenizer, (id) => [id === two ? 0.25 : 0.75]);
		const process = { use: 'process', name: 'process', model: 'prm', separator: '2', steps: 'lines' };
		const runner = hosts.open({ builtIns: [process], context: { ...context, folder } });
		const { values, errors } = await runner.score('process', [rowOf(worked('1\n1', '7')), rowOf('7')]);
		assert.deepEqual(errors, []);
		assert.deepEqual(values, [0.25, null]);
	});

	it('report an invalid entry or a failing server in one sentence with an action', async () => {
		const wrong = hosts.open({ builtIns: [{ use: 'formt', name: 'formt' }], context });
		await assert.rejects(wrong.describe(), /Unknown built-in reward "formt"/);
		const gone = await ScriptedServer.start(() => ({}));
		const url = `${gone.origin}/v1`;
		await gone.stop();
		const judge = { use: 'judge', name: 'judge', url, model: 'm' };
		const runner = hosts.open({ builtIns: [judge], context });
		const { values, errors } = await runner.score('judge', [rowOf(worked('', '7')), rowOf('no response')]);
		assert.deepEqual(values, [null, 0]);
		assert.equal(errors.length, 1);
		assert.match(
			errors[0]?.message ?? '',
			/^No server is responding at http:.* nothing is listening there\. Start the server, or fix "url"\.$/,
		);
	});
});
