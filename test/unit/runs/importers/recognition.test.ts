import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import { findFormats } from '../../../../src/runs/importers/findFormats.ts';
import { formats } from '../../../../src/runs/importers/formats.ts';
import { topKeys } from '../../../../src/runs/importers/topKeys.ts';
import { openRun } from '../../../../src/runs/openRun.ts';
import { runsBelow } from '../../../../src/runs/runsBelow.ts';
import { fixtureFolder, fixtures, readAll } from './foreignFixtures.ts';

let folder: string;
before(async () => {
	folder = await mkdtemp(join(tmpdir(), 'recognition-'));
});
after(() => rm(folder, { recursive: true, force: true }));

let made = 0;
/** Creates a folder with these files. */
async function folderOf(files: Readonly<Record<string, string | object>>): Promise<string> {
	const place = join(folder, String(made++));
	await mkdir(place);
	for (const [name, content] of Object.entries(files)) {
		await mkdir(dirname(join(place, name)), { recursive: true });
		await writeFile(join(place, name), typeof content === 'string' ? content : `${JSON.stringify(content)}\n`);
	}
	return place;
}
const names = async (place: string) => (await findFormats(place)).map(({ name }) => name);

describe('format recognition', () => {
	for (const { name, format } of fixtures) {
		it(`recognizes ${name}, and mistakes it for nothing else`, async () => {
			const found = await names(fixtureFolder(name));
			assert.equal(found[0], format);
			// Event files belong to TensorBoard, whatever program wrote them.
			assert.deepEqual(
				found.filter((other) => other !== 'tensorboard'),
				[format],
			);
			assert.equal((await openRun(fixtureFolder(name))).format, format);
		});
		it(`finds only the run itself in a workspace that is a run of ${name}`, async () => {
			const { runs } = await runsBelow(fixtureFolder(name), { chosen: false });
			assert.deepEqual(
				runs.map((run) => [run.folder, run.formats[0]?.name]),
				[[fixtureFolder(name), format]],
			);
		});
		it(`finds two runs of ${name} side by side, and does not mix them`, async () => {
			const place = await folderOf({});
			for (const copy of ['a', 'b']) await cp(fixtureFolder(name), join(place, copy), { recursive: true });
			const { runs } = await runsBelow(place);
			assert.deepEqual(
				runs.map((run) => [run.folder, run.formats[0]?.name]),
				['a', 'b'].map((copy) => [join(place, copy), format]),
			);
		});
	}

	it('does not mix the rollouts of two verl runs', async () => {
		const verl = { input: 'a', output: 'b', gts: null, score: 0, step: 1 };
		const place = await folderOf({ 'a/1.jsonl': verl, 'b/1.jsonl': verl, 'val/1.jsonl': verl });
		assert.deepEqual(await names(place), []);
		assert.deepEqual(
			(await runsBelow(place)).runs.map((run) => run.folder),
			['a', 'b', 'val'].map((name) => join(place, name)),
		);
		const logged = { 'exp.jsonl': { step: 0, data: { a: 1 } }, 'rollouts/1.jsonl': verl, 'gen_val/1.jsonl': verl };
		const run = await openRun(await folderOf(logged));
		assert.equal((await readAll(run)).rollouts.length, 1);
		assert.equal((await readAll(run, 'validation')).rollouts.length, 1);
		// Names of folders are not patterns.
		assert.deepEqual(await names(await folderOf({ '{run}/notes.jsonl': { a: 1 }, 'a/1.jsonl': verl })), ['verl']);
		assert.deepEqual(await names(await folderOf({ '{step}/1.jsonl': verl })), ['verl']);
		const old = await openRun(await folderOf({ '1.jsonl': verl, 'old/1.jsonl': verl, 'val/1.jsonl': verl }));
		assert.equal((await readAll(old)).rollouts.length, 1, 'the copy in "old" does not count');
	});

	it('finds runs in a project folder that matches a format itself', async () => {
		const verl = { input: 'a', output: 'b', gts: null, score: 0, step: 1 };
		const place = await folderOf({ 'data/1.jsonl': verl });
		await cp(fixtureFolder('trl-run'), join(place, 'trl'), { recursive: true });
		const found = async (chosen: boolean) => {
			const { runs } = await runsBelow(place, { chosen });
			return runs.map((run) => [relative(place, run.folder), run.formats[0]?.name]);
		};
		assert.deepEqual(await found(true), [['', 'verl']]);
		assert.deepEqual(await found(false), [
			['data', 'verl'],
			['trl', 'trl'],
		]);
	});

	it('has distinct names, titles and notes for each format', () => {
		assert.equal(new Set(formats.map(({ name }) => name)).size, formats.length);
		assert.equal(new Set(formats.map(({ title }) => title)).size, formats.length);
		for (const { title, looksFor, notes } of formats) {
			assert.ok(looksFor.length > 5, title);
			for (const note of notes) assert.match(note, /^[A-Za-z].*[.]$/s, title);
		}
	});

	it('finds no run in folders that merely resemble one', async () => {
		assert.deepEqual(await names(await folderOf({})), []);
		assert.deepEqual(await names(await folderOf({ '1.jsonl': { prompt: 'a', completion: 'b' } })), []);
		assert.deepEqual(await names(await folderOf({ 'results.jsonl': { accuracy: 1 } })), []);
		assert.deepEqual(
			await names(await folderOf({ 'traces.jsonl': { span: 1, message: { traces: [], nodes: [] } } })),
			[],
		);
		assert.deepEqual(await names(await folderOf({ 'metrics.jsonl': { step: 1, loss: 2 } })), []);
		assert.deepEqual(await names(await folderOf({ 'config.json': {}, 'metrics.jsonl': '{"step": 1' })), []);
		assert.deepEqual(await names(await folderOf({ 'dumped_evals/global_step_1_evals/a.jsonl': { score: 1 } })), []);
		assert.deepEqual(await names(await folderOf({ 'trajectories/train/7.yaml': 'a: 1\n' })), []);
	});

	it('does not mistake a folder with only SkyRL means, without rollouts, for a run', async () => {
		const means = { 'eval/all/avg_score': 1 };
		assert.deepEqual(
			await names(await folderOf({ 'dumped_evals/global_step_1_evals/aggregated_results.jsonl': means })),
			[],
		);
	});

	it('lists the formats it looked for if there is no run', async () => {
		const empty = await folderOf({ 'notes.txt': 'nothing' });
		await assert.rejects(openRun(empty), (error) => {
			assert.ok(error instanceof Failure);
			for (const { title } of formats) assert.ok(error.message.includes(title), title);
			return true;
		});
	});

	it('recognizes a format at the other locations its trainer writes to', async () => {
		const verl = { input: 'a', output: 'b', gts: null, score: 0, step: 1 };
		assert.deepEqual(await names(await folderOf({ '1.jsonl': verl })), ['verl']);
		assert.deepEqual(await names(await folderOf({ 'anything/12.jsonl': verl })), ['verl']);
		assert.deepEqual(await names(await folderOf({ 'project/experiment.jsonl': { step: 0, data: { a: 1 } } })), [
			'verl',
		]);
		const sky = { input_prompt: 'a', output_response: 'b', score: 0 };
		assert.deepEqual(await names(await folderOf({ 'global_step_5_evals/gsm8k.jsonl': sky })), ['skyrl']);
		assert.deepEqual(await names(await folderOf({ 'dumped_evals/eval_only/gsm8k.jsonl': sky })), ['skyrl-eval']);
		const episode = { id: 'e', traces: [] };
		assert.deepEqual(await names(await folderOf({ 'monitors/file/traces/stream.jsonl': episode })), ['prime-rl']);
		assert.deepEqual(await names(await folderOf({ 'monitors/file/traces/stream/0.jsonl': episode })), ['prime-rl']);
		assert.deepEqual(await names(await folderOf({ 'traces/live/0.jsonl': episode })), ['prime-rl']);
		const row = { example_id: 0, prompt: 'a', completion: 'b', reward: 1 };
		assert.deepEqual(await names(await folderOf({ 'rollouts/step_3/train_rollouts.jsonl': row })), ['prime-rl']);
		assert.deepEqual(await names(await folderOf({ 'train_step_1_epoch_0/episode_hash1_id2_0.json': {} })), ['rllm']);
		const trace = { id: 't', task: {}, nodes: [] };
		assert.deepEqual(await names(await folderOf({ 'results.jsonl': trace })), ['verifiers']);
	});

	it('recognizes two formats in one folder, and opens the selected one', async () => {
		const both = join(folder, 'both');
		await cp(fixtureFolder('verl'), both, { recursive: true });
		await cp(fixtureFolder('skyrl'), both, { recursive: true });
		assert.deepEqual((await names(both)).sort(), ['skyrl', 'verl']);
		assert.equal((await openRun(both, { format: 'skyrl' })).format, 'skyrl');
		assert.equal((await openRun(both, { format: 'verl' })).format, 'verl');
	});
});

describe('keys at the start of a file', () => {
	it('belong to the first object, not to nested ones', () => {
		assert.deepEqual(
			[...topKeys('{"a": {"b": 1}, "c": ["d", {"e": 2}], "f\\"g": "h"}\n{"z": 1}')],
			['a', 'c', 'f\\"g'],
		);
	});

	it('are found wherever the text is truncated', () => {
		const whole = JSON.stringify({ id: 1, text: 'a "quoted" {brace}', traces: [{ nodes: [] }], last: null });
		for (let end = 0; end <= whole.length; end++) {
			const keys = [...topKeys(whole.slice(0, end))];
			assert.deepEqual(keys, ['id', 'text', 'traces', 'last'].slice(0, keys.length));
		}
	});

	it('are empty without an object', () => {
		for (const text of ['', '   ', '[{"a": 1}]', 'null', '"a": 1', '{', '{"a', '\u0000\u0000']) {
			assert.deepEqual([...topKeys(text)], [], text);
		}
	});
});
