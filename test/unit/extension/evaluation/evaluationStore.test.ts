import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Emitter } from '../../../../src/base/event.ts';
import { presentEvaluation } from '../../../../src/extension/evaluation/evaluationPresentation.ts';
import { EvaluationStore } from '../../../../src/extension/evaluation/evaluationStore.ts';
import type { RunView } from '../../../../src/extension/runView.ts';

const evaluation = (step: number, created: number) => ({
	format: 1,
	spec: {
		name: `sums-step_${step}`,
		policy: { kind: 'checkpoint', folder: `/r/checkpoints/step_00000${step}` },
		problems: { from: 'file', path: '/d/sums.jsonl', count: 4 },
		samples: 2,
	},
	created,
	problems: { name: 'sums\u202e', count: 4, hash: 'h' },
	policy: { name: 'p', model: 'm' },
});

test('evaluations of runs are found, followed and described, and other files are ignored', async (context) => {
	const root = await mkdtemp(join(tmpdir(), 'es-'));
	context.after(() => rm(root, { recursive: true, force: true }));
	const run = join(root, 'run');
	const folder = join(run, 'annotations', 'evaluations');
	const write = async (name: string, file: object, report?: object) => {
		await mkdir(join(folder, name), { recursive: true });
		await writeFile(join(folder, name, 'evaluation.json'), JSON.stringify(file));
		if (report !== undefined) await writeFile(join(folder, name, 'report.json'), JSON.stringify(report));
	};
	const runs = [{ folder: run }, { folder: join(root, 'other') }] as RunView[];
	const store = new EvaluationStore({ runs, onDidChange: new Emitter<void>().event }, (error) =>
		assert.fail(String(error)),
	);
	context.after(() => store.dispose());
	let news = 0;
	store.onDidChange(() => news++);
	await store.refresh();
	assert.deepEqual([store.of(run), news], [[], 0]);

	await write('late', evaluation(8, 20), { problems: 4, accuracy: { accuracy: 0.5, low: 0.25, high: 0.75 } });
	await write('early', evaluation(4, 30));
	await mkdir(join(folder, 'none'));
	await store.refresh();
	assert.deepEqual(
		store.of(run).map(({ name, step, accuracy }) => [name, step, accuracy?.accuracy ?? null]),
		[
			['early', 4, null],
			['late', 8, 0.5],
		],
	);
	assert.equal(news, 1);
	await store.refresh();
	assert.equal(news, 1, 'unchanged evaluations are not reported');

	const [early, late] = store.of(run);
	assert.ok(early && late);
	assert.equal(store.get(late.folder), late);
	const row = store.rowOf(late.folder, 100);
	assert.equal(row?.label, 'step 8');
	assert.match(row?.spoken ?? '', /^evaluation on sums at step 8, pass@1/);
	assert.equal(row?.description, 'pass@1 50.0% (25.0 to 75.0) · sums · 2 samples');
	assert.equal(row?.contextValue, 'evaluation');
	assert.equal(presentEvaluation(early, 100).description, 'interrupted · sums · 2 samples');
	assert.match(
		Object.fromEntries(presentEvaluation(early, 100).tooltip).Action ?? '',
		/^To continue, .* with the same settings/,
	);

	// The evaluation finishes in the existing folder.
	await write('early', evaluation(4, 30), { problems: 3, accuracy: { accuracy: 1, low: 0.5, high: 1 } });
	await store.refresh();
	assert.equal(news, 2);
	assert.match(store.rowOf(early.folder, 100)?.description ?? '', /^pass@1 100\.0% .* interrupted at 3 of 4 questions/);

	await rm(folder, { recursive: true });
	await store.refresh();
	assert.deepEqual([store.of(run), news], [[], 3]);
});
