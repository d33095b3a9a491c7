import assert from 'node:assert/strict';
import { appendFile, mkdir, open, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { drawLines } from '../../../src/rewards/datasetLines.ts';
import { findRewardData } from '../../../src/rewards/rewardData.ts';
import { sampleProblems } from '../../../src/rewards/sampleProblems.ts';
import { jsonl, recipe, sums, VerifyProject } from './verifyProject.ts';

const reward = 'export const brevity = () => 0;\n';
const project = { 'rewards/brevity.reward.ts': reward, 'data/train.jsonl': jsonl(sums) };

async function find(made: VerifyProject, changes: Partial<Parameters<typeof findRewardData>[0]> = {}) {
	return findRewardData({ file: made.path('rewards/brevity.reward.ts'), folders: [made.folder], ...changes });
}
const datasetPath = (data: Awaited<ReturnType<typeof find>>) =>
	data.dataset !== null && 'path' in data.dataset ? data.dataset.path : null;

describe('the data for a reward file', () => {
	it('is null for a dataset that only the trainer can read, with a remark', async (context) => {
		const pytorch = { engine: 'pytorch', workers: undefined, model: { path: 'Qwen/Qwen2.5-0.5B' } };
		for (const [dataset, message] of [
			[
				{ preset: 'gsm8k' },
				/openai\/gsm8k is on the Hub; only the trainer can read it, and only during a run\. Add "\/\/ @dataset/,
			],
			[{ path: 'data/train.jsonl.gz' }, /train\.jsonl\.gz is compressed; only the trainer can read it/],
		] as const) {
			const made = await VerifyProject.make(context, { ...project, 'a.recipe.json': recipe({ ...pytorch, dataset }) });
			const found = await find(made);
			assert.equal(found.dataset, null);
			assert.match(found.remarks.join(), message);
			await made.write('rewards/brevity.reward.ts', `// @dataset ../data/train.jsonl\n${reward}`);
			assert.equal(datasetPath(await find(made)), made.path('data/train.jsonl'));
		}
	});

	it('comes from a preset dataset unchanged and is verified by the rule of the preset', async (context) => {
		const rows = Array.from({ length: 8 }, (_, i) => ({ nums: [i + 1, 2, 3], target: i + 6 }));
		const made = await VerifyProject.make(context, {
			...project,
			'data/countdown.jsonl': jsonl(rows),
			'a.recipe.json': recipe({ dataset: { preset: 'countdown', path: 'data/countdown.jsonl' } }),
		});
		const found = await find(made);
		assert.deepEqual(found.context.task, { task: 'countdown' });
		const question = { answer: '6', row: { numbers: [1, 2, 3], target: 6 } };
		assert.deepEqual([found.verify(question, '1+2+3'), found.verify(question, '6')], [true, false]);
	});

	it('comes from its @dataset comment, or else from a recipe that lists the file, or else from a nearby recipe', async (context) => {
		const made = await VerifyProject.make(context, {
			...project,
			'data/other.jsonl': jsonl(sums),
			'deep/er/named.recipe.json': recipe({
				dataset: { path: '../../data/other.jsonl' },
				rewards: [{ file: '../../rewards/brevity.reward.ts' }, { use: 'format' }],
				template: 'r1-conversation',
			}),
		});
		const named = await find(made);
		assert.equal(named.source, 'recipe');
		assert.equal(datasetPath(named), made.path('data/other.jsonl'));
		assert.equal(named.described, 'data/other.jsonl');
		assert.equal(named.template.name, 'r1-conversation');
		assert.deepEqual(
			named.others.map((one) => ('use' in one ? one.use : one.file)),
			[made.path('rewards/brevity.reward.ts'), 'format'],
		);
		assert.deepEqual(named.remarks, []);
		assert.deepEqual(named.files, [made.path('deep/er/named.recipe.json'), made.path('data/other.jsonl')]);

		await made.write('rewards/brevity.reward.ts', `// @dataset ../data/train.jsonl\n${reward}`);
		const commented = await find(made);
		assert.equal(commented.source, 'comment');
		assert.equal(datasetPath(commented), made.path('data/train.jsonl'));
		assert.equal(commented.template.name, 'r1-conversation', 'the template still comes from the recipe');
		const typed = await find(made, { text: '// @dataset {"task": "addition"}\n' });
		assert.equal(typed.described, 'the addition task');
		const defaults = { subtraction: false, judged: 0, proposed: 0 };
		assert.deepEqual(typed.context.task, { task: 'addition', digits: 3, ...defaults });

		const given = await find(made, { dataset: made.path('data/other.jsonl') });
		assert.equal(given.source, 'given');

		await made.write('rewards/brevity.reward.ts', reward);
		await rm(made.path('deep'), { recursive: true });
		assert.equal((await find(made)).source, null);
		await made.write('near.recipe.json', recipe({ rewards: [{ use: 'accuracy' }] }));
		const near = await find(made, { folders: [] });
		assert.equal(near.source, 'near');
		assert.deepEqual(near.others, []);
	});

	it('comes from the nearest of several recipes that list the file, with a remark', async (context) => {
		const near = recipe({ name: 'near', template: 'plain' });
		const made = await VerifyProject.make(context, {
			...project,
			'sums.recipe.json': near,
			'a/b/far.recipe.json': recipe({ rewards: [{ file: '../../rewards/brevity.reward.ts' }] }),
			'runs/x/old.recipe.json': recipe(),
			'node_modules/y/z.recipe.json': recipe(),
		});
		const data = await find(made);
		assert.equal(data.recipe?.path, made.path('sums.recipe.json'));
		assert.deepEqual(data.remarks, ['Using sums.recipe.json; 1 more recipe uses the file.']);
		const chosen = await find(made, { recipe: made.path('a/b/far.recipe.json') });
		assert.equal(chosen.recipe?.names, true);
	});

	it('is null with a suggested action if missing', async (context) => {
		const made = await VerifyProject.make(context, project);
		const none = await find(made);
		assert.equal(none.dataset, null);
		assert.equal(none.template.name, 'r1');
		assert.match(none.remarks.join(), /No dataset found for brevity\.reward\.ts\. Add "\/\/ @dataset .*"/);
		assert.match((await find(made, { file: made.path('rewards/x.reward.py') })).remarks.join(), /Add "# @dataset/);
		assert.match((await find(made, { text: '// @dataset' })).remarks.join(), /Line 1: .*does not specify a file/);
		assert.match(
			(await find(made, { text: '// @dataset {"task": "addition", "terms": 2}' })).remarks.join(),
			/no setting "terms"/,
		);
		await made.write('broken.recipe.json', '{ "name": 1 }');
		const broken = await find(made);
		assert.match(broken.remarks.join('\n'), /broken\.recipe\.json, line 1/);
		assert.match((await find(made, { recipe: made.path('none.recipe.json') })).remarks.join(), /does not exist/);
	});

	it('is null for an unreadable file', async (context) => {
		const made = await VerifyProject.make(context, project);
		await mkdir(made.path('rewards/folder.reward.ts'));
		for (const name of ['rewards/folder.reward.ts', 'rewards/gone.reward.ts']) {
			assert.equal((await find(made, { file: made.path(name) })).dataset, null);
		}
	});
});

describe('a sample of problems', () => {
	const options = { count: 40, seed: 1 };

	it('is seeded, in file order, with row locations', async (context) => {
		const made = await VerifyProject.make(context, { ...project, 'sums.recipe.json': recipe() });
		const data = await find(made);
		const { problems, remarks } = await sampleProblems(data, options);
		assert.deepEqual(remarks, []);
		assert.equal(problems.length, 40);
		assert.deepEqual(await sampleProblems(data, options), { problems, remarks });
		const lines = problems.map(({ place }) => place?.line ?? 0);
		assert.deepEqual(
			lines,
			[...lines].sort((a, b) => a - b),
		);
		assert.equal(new Set(lines).size, 40);
		for (const { problem, place, name } of problems) {
			const row = sums[(place?.line ?? 0) - 1];
			assert.deepEqual(problem.row, row);
			assert.equal(problem.answer, String(row?.answer));
			assert.equal(name, `row ${place?.line}`);
		}
		const other = await sampleProblems(data, { ...options, seed: 2 });
		assert.notDeepEqual(other.problems, problems);
		assert.equal((await sampleProblems(data, { count: 1000, seed: 1 })).problems.length, sums.length);
	});

	it('contains each problem of a task at most once', async (context) => {
		const made = await VerifyProject.make(context, project);
		const data = await find(made, { text: '// @dataset {"task": "addition", "digits": 1}' });
		const { problems } = await sampleProblems(data, { count: 30, seed: 3 });
		assert.equal(new Set(problems.map(({ problem }) => problem.key)).size, problems.length);
		assert.ok(problems.length > 20);
		for (const { problem } of problems) assert.equal(data.verify(problem, problem.answer ?? ''), true);
	});

	it('uses the columns given by the comment or the recipe', async (context) => {
		const rows = [
			{ question: 'a', gold: '1' },
			{ question: 'b', gold: '2' },
		];
		const made = await VerifyProject.make(context, { ...project, 'data/q.jsonl': jsonl(rows) });
		const named = await find(made, { text: '# @dataset ../data/q.jsonl prompt=question answer=gold' });
		assert.deepEqual(
			(await sampleProblems(named, options)).problems.map(({ problem }) => problem.answer),
			['1', '2'],
		);
		const plain = await sampleProblems(await find(made, { text: '# @dataset ../data/q.jsonl' }), options);
		assert.deepEqual(plain.problems, []);
		assert.match(
			plain.remarks.join(),
			/data\/q\.jsonl, line 1, has no column "prompt" \(it has question, gold\) \(and 1 more of 2 rows\)/,
		);
		await made.write(
			'sums.recipe.json',
			recipe({ dataset: { path: 'data/q.jsonl', prompt: 'question', answer: 'gold' } }),
		);
		const both = await find(made, { text: '# @dataset ../data/q.jsonl' });
		assert.equal((await sampleProblems(both, options)).problems.length, 2);
	});

	it('skips invalid rows with a remark', async (context) => {
		const made = await VerifyProject.make(context, project);
		const sample = async (content: string) => {
			await made.write('data/x.jsonl', content);
			return sampleProblems(await find(made, { text: '// @dataset ../data/x.jsonl' }), options);
		};
		const mixed = await sample(
			`\uFEFF{"prompt": "a", "answer": "1"}\r\n\nnot JSON\n[1]\n{"prompt": "b", "answer": null}\n{"prompt": "c", "answer": 3}`,
		);
		assert.deepEqual(
			mixed.problems.map(({ problem, name }) => [name, problem.answer]),
			[
				['row 1', '1'],
				['row 6', '3'],
			],
		);
		assert.deepEqual(mixed.remarks, [
			'data/x.jsonl, line 3, is not JSON (and 1 more of 5 rows). Write one JSON object per line.',
			'1 of 5 rows in data/x.jsonl have no answer and are skipped.',
		]);
		assert.deepEqual((await sample('')).remarks, ['data/x.jsonl has no rows.']);
		assert.match((await sample('{"prompt": "a", "answer": null}\n')).remarks.join(), /has no answers in "answer"/);
		const gone = await sampleProblems(await find(made, { text: '// @dataset ../data/gone.jsonl' }), options);
		assert.match(gone.remarks.join(), /gone\.jsonl does not exist/);
		const folder = await sampleProblems(await find(made, { text: '// @dataset ../data' }), options);
		assert.match(folder.remarks.join(), /is not a regular file/);
	});

	it('supports conversational prompts', async (context) => {
		const prompt = [
			{ role: 'system', content: 'Be brief.' },
			{ role: 'user', content: '1+1=' },
		];
		const made = await VerifyProject.make(context, { ...project, 'data/chat.jsonl': jsonl([{ prompt, answer: '2' }]) });
		const { problems } = await sampleProblems(await find(made, { text: '// @dataset ../data/chat.jsonl' }), options);
		assert.deepEqual(problems[0]?.messages, prompt);
		assert.equal(problems[0]?.problem.prompt, 'Be brief.\n\n1+1=');
		assert.deepEqual(problems[0]?.problem.row, { prompt, answer: '2' });
	});
});

describe('lines sampled from a file', () => {
	it('include every line once, whatever the chunk size', async (context) => {
		const made = await VerifyProject.make(context);
		const texts = Array.from({ length: 500 }, (_, i) => `{"i": ${i}, "text": "${'é'.repeat(i % 90)}"}`);
		const path = await made.write('x.jsonl', texts.join('\n'));
		for (const chunk of [64, 1000, 1 << 20]) {
			const limits = { indexed: 1 << 30, chunk, longestLine: 1 << 20, places: 4 };
			const lines = await drawLines(path, 5, { limits });
			const read = [];
			for (let line = await lines.read(); line !== null; line = await lines.read()) read.push(line);
			await lines.close();
			assert.deepEqual(
				read.map(({ line }) => line).sort((a, b) => (a ?? 0) - (b ?? 0)),
				texts.map((_, i) => i + 1),
			);
			for (const { text, line } of read) assert.equal(text, texts[(line ?? 0) - 1]);
			assert.notDeepEqual(
				read.map(({ line }) => line),
				texts.map((_, i) => i + 1),
			);
		}
	});

	it('come from the start and seeded offsets of a large file, without reading the rest', async (context) => {
		const made = await VerifyProject.make(context);
		const path = made.path('large.jsonl');
		const row = (i: number) => `{"i": ${i}, "prompt": "p${i}", "answer": "${i}"}\n`;
		const handle = await open(path, 'w');
		// Sparse file, so the 40 MB are not read: 200 rows, a hole, and 200 rows at the end.
		await handle.write(Array.from({ length: 200 }, (_, i) => row(i)).join(''), 0);
		await handle.truncate(40 << 20);
		await handle.close();
		await appendFile(path, `\n${Array.from({ length: 2000 }, (_, i) => row(1000 + i)).join('')}`);
		const limits = { indexed: 1 << 20, chunk: 64 << 10, longestLine: 1 << 20, places: 8 };
		const lines = await drawLines(path, 1, { limits });
		const read = [];
		for (let i = 0; i < 1000; i++) {
			const line = await lines.read();
			if (line === null) break;
			read.push(line);
		}
		await lines.close();
		assert.ok(read.length >= 200);
		assert.equal(new Set(read.map(({ offset }) => offset)).size, read.length, 'none twice');
		for (const { text, line, offset } of read.filter(({ text }) => text.startsWith('{'))) {
			const { i } = JSON.parse(text) as { i: number };
			if (i < 200) assert.equal(line, i + 1);
			else assert.ok(line === null && offset > 40 << 20);
		}
		const data = await findRewardData({ file: made.path('a.reward.ts'), folders: [], dataset: path });
		const { problems } = await sampleProblems(data, { count: 20, seed: 1, limits });
		assert.equal(problems.length, 20);
	});

	it('are empty for a pipe, a folder or a missing file', async (context) => {
		const made = await VerifyProject.make(context);
		await symlink('/dev/zero', made.path('zero.jsonl'));
		for (const path of [made.folder, made.path('gone.jsonl'), made.path('zero.jsonl')]) {
			await assert.rejects(drawLines(path, 1), /does not exist|is not a regular file/);
		}
		assert.ok(join(made.folder));
	});
});
