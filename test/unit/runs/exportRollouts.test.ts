import assert from 'node:assert/strict';
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseCases } from '../../../src/core/reward/verification/labeledCase.ts';
import { resolveTemplate } from '../../../src/core/text/template.ts';
import { parsePerturbation } from '../../../src/core/trace/perturb.ts';
import type { RolloutLine } from '../../../src/protocol/rolloutLine.ts';
import type { RolloutLabels } from '../../../src/protocol/stepLabel.ts';
import { exportRollouts, leftOutText } from '../../../src/runs/exportRollouts.ts';
import { convertStepLabels, exportStepLabels } from '../../../src/runs/exportStepLabels.ts';
import { openRun } from '../../../src/runs/openRun.ts';
import type { ExportProgress, RolloutExport } from '../../../src/runs/rolloutExport.ts';
import { StepLabels } from '../../../src/runs/stepLabels.ts';
import { temporaryFolder } from './runFixtures.ts';

const fixtures = fileURLToPath(new URL('../../fixtures', import.meta.url));
const tags = resolveTemplate('r1');

function rollout(
	step: number,
	group: number,
	index: number,
	reward: number | null,
	more: Partial<RolloutLine> = {},
): RolloutLine {
	return {
		step,
		stage: 'grpo',
		group,
		index,
		prompt: `${step}+${group}=`,
		completion: `<think>it is\n${step}${group}${index}</think><answer>${reward === 1 ? 'right' : 'wrong'}</answer>`,
		answer: String(step + group),
		row: { a: step },
		rewards: { accuracy: reward, format: 1 },
		reward,
		advantage: 0,
		truncated: false,
		...more,
	};
}

interface Place {
	readonly run: string;
	readonly out: string;
	write(request: Partial<RolloutExport> & Pick<RolloutExport, 'as'>, options?: object): Promise<Written>;
}
interface Written {
	readonly lines: Record<string, unknown>[];
	readonly summary: Awaited<ReturnType<typeof exportRollouts>>;
}

/**
 * Creates a run of two steps with interleaved groups, one without a reward, one with identical completions, and a
 * partial line.
 */
async function makeRun(context: TestContext, rollouts: readonly RolloutLine[] = lines): Promise<Place> {
	const folder = await temporaryFolder(context);
	const run = join(folder, 'run-1');
	await mkdir(join(run, 'rollouts'), { recursive: true });
	await writeFile(
		join(run, 'run.json'),
		JSON.stringify({
			format: 1,
			id: 'run-1',
			name: 'tiny',
			engine: 'embedded',
			status: 'finished',
			attempt: 1,
			stage: 'grpo',
			step: 2,
			totalSteps: 2,
			created: 1,
			updated: 1,
			heartbeat: 1,
			host: 'h',
			boot: 'b',
			pid: 1,
			processStart: '1',
			device: 'cpu',
			parent: null,
			seeds: {},
			versions: {},
			hashes: { recipe: '', dataset: '', rewards: '' },
		}),
	);
	for (const step of new Set(rollouts.map((line) => line.step))) {
		const text = rollouts.filter((line) => line.step === step).map((line) => `${JSON.stringify(line)}\n`);
		await writeFile(join(run, 'rollouts', `step_00000${step}.jsonl`), `${text.join('')}{"step":1,"torn`);
	}
	const out = join(folder, 'out.jsonl');
	const write: Place['write'] = async (request, options = {}) => {
		const summary = await exportRollouts(await openRun(run), { split: 'train', selection: {}, tags, ...request }, out, {
			replace: true,
			...options,
		});
		const text = await readFile(out, 'utf8');
		assert.equal(Buffer.byteLength(text), summary.bytes);
		const written = text
			.split('\n')
			.slice(0, -1)
			.map((line) => JSON.parse(line) as Record<string, unknown>);
		assert.equal(written.length, summary.written);
		return { lines: written, summary };
	};
	return { run, out, write };
}

const lines = [
	rollout(1, 0, 0, 0),
	rollout(1, 1, 0, 1),
	rollout(1, 0, 1, 1),
	rollout(1, 1, 1, 1),
	rollout(1, 0, 2, 0.5),
	rollout(1, 2, 0, null),
	rollout(1, 2, 1, 1, { truncated: true }),
	rollout(2, 0, 0, 1),
	rollout(2, 0, 1, 0),
];
const reasons = ({ summary }: Written) =>
	Object.fromEntries(summary.leftOut.map(({ reason, count }) => [reason, count]));

test('SFT: exports the selection as recorded, and reports what was skipped and why', async (context) => {
	const { write, run } = await makeRun(context);
	const all = await write({ as: 'sft' });
	assert.deepEqual(all.lines[0], { prompt: '1+0=', completion: lines[0]?.completion });
	assert.deepEqual(
		[all.summary.read, all.summary.written, all.summary.unreadable, all.summary.form],
		[9, 9, 2, 'standard'],
	);
	assert.deepEqual(all.summary.faults[0], {
		file: 'rollouts/step_000001.jsonl',
		line: 8,
		message: all.summary.faults[0]?.message,
		records: 1,
	});

	const some = await write({ as: 'sft', selection: { correct: true, truncated: false, steps: { to: 1 } } });
	assert.deepEqual(
		some.lines.map(({ prompt }) => prompt),
		['1+1=', '1+0=', '1+1='],
	);
	assert.deepEqual(reasons(some), {
		'that are incorrect': 2,
		'that no reward marks as correct or incorrect': 1,
		'that were truncated': 1,
	});
	assert.equal(
		leftOutText(some.summary.leftOut[0] ?? { reason: '', count: 0 }, 'rollouts'),
		'2 rollouts that are incorrect',
	);

	const best = await write({ as: 'sft', selection: { bestPerGroup: 1 } });
	assert.deepEqual(
		best.lines.map(({ prompt }) => prompt),
		['1+1=', '1+0=', '1+2=', '2+0='],
		'in the order of the file',
	);
	assert.deepEqual(reasons(best), { 'that are not among the best 1 in their group': 4, 'without a reward': 1 });

	const places = await write({ as: 'sft', selection: { rollouts: [{ step: 2, group: 0, index: 1 }] } });
	assert.deepEqual(places.lines.length, 1);
	assert.deepEqual(
		(await write({ as: 'sft', selection: { groups: [{ step: 1, group: 1 }], minReward: 1 } })).lines.length,
		2,
	);

	const messages = await write({ as: 'sft', form: 'messages', selection: { steps: { from: 2 } } });
	assert.deepEqual(messages.lines[0], {
		messages: [
			{ role: 'user', content: '2+0=' },
			{ role: 'assistant', content: lines[7]?.completion },
		],
	});
	assert.deepEqual((await readdir(run)).sort(), ['rollouts', 'run.json'], 'nothing is left behind in the run folder');
});

test('SFT: exact duplicates are skipped on request', async (context) => {
	const { write } = await makeRun(context, [
		rollout(1, 0, 0, 1),
		rollout(1, 0, 1, 1, { completion: rollout(1, 0, 0, 1).completion }),
	]);
	const unique = await write({ as: 'sft', unique: true });
	assert.deepEqual([unique.lines.length, reasons(unique)], [1, { 'that duplicate an earlier one': 1 }]);
});

test('SFT: perturbed completions are reproducible with a seed, and inserted steps come from other rollouts', async (context) => {
	const { write } = await makeRun(context);
	const perturb = parsePerturbation('corrupt-digits');
	const first = await write({ as: 'sft', perturb, seed: 4 });
	assert.deepEqual((await write({ as: 'sft', perturb, seed: 4 })).lines, first.lines);
	assert.notDeepEqual((await write({ as: 'sft', perturb, seed: 5 })).lines, first.lines);
	for (const [i, { completion }] of first.lines.entries()) assert.notEqual(completion, lines[i]?.completion);
	const inserted = await write({ as: 'sft', perturb: parsePerturbation('insert-steps') });
	assert.equal(inserted.lines.length, 9);
	// Step "110" belongs to another rollout: a rollout's own steps are never inserted into it.
	for (const [i, { completion }] of inserted.lines.entries()) {
		const { step, group, index } = lines[i] as RolloutLine;
		assert.equal(String(completion).split(`${step}${group}${index}`).length, 2);
	}
	const wrong = await write({
		as: 'sft',
		perturb: parsePerturbation('wrong-answer'),
		selection: { steps: { from: 2 } },
	});
	for (const { completion } of wrong.lines)
		assert.ok(!/<answer>(?:2|right|wrong)<\/answer>/.test(String(completion)), String(completion));
});

test('DPO: pairs the best with the worst of each group, wherever its rollouts are in the file', async (context) => {
	const { write } = await makeRun(context);
	const found = await write({ as: 'dpo' });
	assert.deepEqual(found.lines, [
		{ prompt: '1+0=', chosen: lines[2]?.completion, rejected: lines[0]?.completion },
		{ prompt: '2+0=', chosen: lines[7]?.completion, rejected: lines[8]?.completion },
	]);
	assert.deepEqual(reasons(found), {
		'groups with identical rewards': 1,
		'groups with fewer than two rewarded rollouts': 1,
		'that are not in any pair in their group': 1,
		'without a reward': 1,
	});
	assert.deepEqual((await write({ as: 'dpo', form: 'conversational' })).lines[1], {
		prompt: [{ role: 'user', content: '2+0=' }],
		chosen: [{ role: 'assistant', content: lines[7]?.completion }],
		rejected: [{ role: 'assistant', content: lines[8]?.completion }],
	});
	await assert.rejects(
		write({ as: 'dpo', pairing: { margin: 2 } }),
		/Nothing to write to .*: 9 rollouts checked; skipped: .*3 groups whose rewards differ|Nothing to write to/,
	);
});

test('exported reward cases can be verified unchanged', async (context) => {
	const { write, out } = await makeRun(context, [
		...lines,
		rollout(2, 1, 0, null, { extra: { errors: { accuracy: 'it raised' } } }),
		rollout(2, 1, 1, 1, { rewards: { format: 1 } }),
	]);
	const found = await write({ as: 'cases', caseReward: 'right' });
	const { cases, faults } = parseCases(await readFile(out, 'utf8'));
	assert.deepEqual(faults, []);
	assert.equal(cases.length, 9);
	assert.deepEqual(found.lines[6], {
		name: 'step 1, group 2, rollout 1',
		reward: 'right',
		prompt: '1+2=',
		completion: lines[6]?.completion,
		answer: '3',
		row: { a: 1 },
		truncated: true,
		expect: 1,
	});
	assert.equal(cases[5]?.expect, null);
	assert.deepEqual(reasons(found), {
		'for which the reward failed': 1,
		'that no reward marks as correct or incorrect': 1,
	});
	const other = await write({ as: 'cases', reward: 'format', selection: { steps: { from: 2 } } });
	assert.deepEqual(
		other.lines.map(({ expect }) => expect),
		[1, 1, 1, 1],
	);
});

test('an export that ends early, has no output or would replace a file leaves no file behind', async (context) => {
	const { write, out, run } = await makeRun(context);
	const folder = join(out, '..');
	const before = (await readdir(folder)).sort();
	const cancel = new AbortController();
	const seen: ExportProgress[] = [];
	const canceled = write(
		{ as: 'sft' },
		{
			signal: cancel.signal,
			onProgress: (progress: ExportProgress) => {
				seen.push(progress);
				cancel.abort();
			},
		},
	);
	await assert.rejects(canceled, { reason: 'cancelled' });
	assert.deepEqual(seen[0], { done: 1, total: 2, read: 7, written: 7 });
	await assert.rejects(write({ as: 'sft', selection: { minReward: 7 } }), {
		reason: 'missing',
		message:
			/9 rollouts checked; skipped: 8 rollouts with a reward below 7, 1 rollouts without a reward; 2 records could not be read/,
	});
	assert.deepEqual((await readdir(folder)).sort(), before);
	await writeFile(out, 'mine');
	await assert.rejects(write({ as: 'sft' }, { replace: false }), { reason: 'exists' });
	assert.equal(await readFile(out, 'utf8'), 'mine');
	await mkdir(join(folder, 'taken'));
	const request = { as: 'sft', split: 'train', selection: {}, tags } as const;
	await assert.rejects(exportRollouts(await openRun(run), request, join(folder, 'taken'), { replace: true }), {
		reason: 'exists',
	});
	assert.deepEqual(
		(await readdir(folder)).filter((name) => name.endsWith('.tmp')),
		[],
	);
});

test('external runs: messages remain messages, and nothing is written to their folder', async (context) => {
	const folder = await temporaryFolder(context);
	await cp(join(fixtures, 'trl-run'), join(folder, 'trl'), { recursive: true });
	const trl = await openRun(join(folder, 'trl'));
	const request = { as: 'dpo', split: 'train', selection: { steps: { to: 3 } }, tags } as const;
	await assert.rejects(exportRollouts(trl, request, join(folder, 'trl', 'sub', 'out.jsonl'), { replace: true }), {
		reason: 'invalid',
	});
	const { written } = await exportRollouts(trl, request, join(folder, 'out.jsonl'), { replace: true });
	assert.ok(written > 0);
	const prime = await openRun(join(fixtures, 'prime-rl', 'run'));
	const sft = { as: 'sft', split: 'train', selection: {}, tags } as const;
	const summary = await exportRollouts(prime, sft, join(folder, 'prime.jsonl'), { replace: true });
	assert.equal(summary.form, 'conversational');
	const [first] = (await readFile(join(folder, 'prime.jsonl'), 'utf8')).split('\n');
	const example = JSON.parse(first as string) as { prompt: { role: string }[]; completion: { role: string }[] };
	assert.equal(example.prompt.at(-1)?.role, 'user');
	assert.equal(example.completion[0]?.role, 'assistant');
	assert.ok(
		example.completion.every((message) =>
			Object.keys(message).every((key) => /^(role|content|reasoning_content|tool_calls|tool_call_id|name)$/.test(key)),
		),
	);
});

test('labels are exported in every format, and published data is converted between formats', async (context) => {
	const { run, out } = await makeRun(context);
	const own = { folder: run, format: 'reasoning-lab', name: 'tiny' };
	const options = { replace: true };
	await assert.rejects(exportStepLabels(own, { as: 'prm800k', now: 0 }, out, options), {
		reason: 'missing',
		action: 'Label steps in the rollouts panel first.',
	});
	const labels = new StepLabels(join(run, 'annotations'));
	const label = (step: number, ...ratings: RolloutLabels['steps'][number]['rating'][]) =>
		labels.save({
			format: 1,
			time: 1_763_640_000,
			split: 'train',
			step,
			group: 0,
			index: 0,
			prompt: '1+0=',
			answer: '1',
			rule: 'lines',
			steps: ratings.map((rating, i) => ({ text: `s${i}`, rating })),
		});
	await label(1, 1, 0, -1);
	await label(2, null, 1);
	const stepwise = await exportStepLabels(own, { as: 'trl-stepwise', now: 0, neutral: 'right' }, out, options);
	assert.deepEqual(JSON.parse(await readFile(out, 'utf8')), {
		prompt: '1+0=',
		completions: ['s0', 's1', 's2'],
		labels: [true, true, false],
	});
	assert.deepEqual(stepwise.leftOut, [{ reason: 'whose first step is not rated', count: 1 }]);
	const chosen = await exportStepLabels(
		own,
		{ as: 'prm800k', now: 0, selection: { steps: { from: 2 } } },
		out,
		options,
	);
	assert.deepEqual([chosen.written, chosen.leftOut], [1, [{ reason: 'that are not selected', count: 1 }]]);
	const bench = await exportStepLabels(own, { as: 'processbench', now: 0 }, out, options);
	assert.equal(bench.written, 1);
	assert.deepEqual(JSON.parse(await readFile(out, 'utf8')), {
		id: '1-0-0',
		generator: 'tiny',
		problem: '1+0=',
		steps: ['s0', 's1', 's2'],
		final_answer_correct: null,
		label: 2,
	});

	for (const [name, read, written, unreadable] of [
		['prm800k_phase2.jsonl', 3, 7, 0],
		['math-shepherd.jsonl', 4, 4, 0],
		['processbench_gsm8k.jsonl', 4, 4, 0],
	] as const) {
		const summary = await convertStepLabels(join(fixtures, 'prm', name), { as: 'trl-stepwise', now: 0 }, out, options);
		assert.deepEqual(
			[summary.read, summary.written, summary.unreadable, summary.what],
			[read, written, unreadable, 'lines'],
		);
	}
	const mixed = join(run, '..', 'mixed.jsonl');
	await writeFile(
		mixed,
		`{"prompt":"p","completions":["a"],"labels":[true]}\n\nnot JSON\n{"steps":1}\n{"prompt":"p","completions":["b"],"labels":[false]}`,
	);
	const summary = await convertStepLabels(mixed, { as: 'math-shepherd', now: 0 }, out, options);
	assert.deepEqual([summary.read, summary.written, summary.unreadable], [4, 2, 2]);
	assert.deepEqual(
		summary.faults.map(({ line, message }) => [line, message]),
		[
			[3, 'is not JSON'],
			[4, 'is not in a supported step label format'],
		],
	);
});
