import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { readMathShepherd, writeMathShepherd } from '../../../../src/core/export/prm/mathShepherd.ts';
import { readPrm800k, writePrm800k } from '../../../../src/core/export/prm/prm800k.ts';
import { readProcessBench, writeProcessBench } from '../../../../src/core/export/prm/processBench.ts';
import { readStepSamples, stepDataForm } from '../../../../src/core/export/prm/readStepSamples.ts';
import type { StepSample } from '../../../../src/core/export/prm/stepSample.ts';
import { readTrlStepwise, writeTrlStepwise } from '../../../../src/core/export/prm/trlStepwise.ts';

const fixture = (name: string): unknown[] =>
	readFileSync(new URL(`../../../fixtures/prm/${name}`, import.meta.url), 'utf8')
		.split('\n')
		.filter((line) => line !== '')
		.map((line) => JSON.parse(line));

const read = (value: unknown): StepSample[] => {
	const samples = readStepSamples(value);
	assert.ok(typeof samples !== 'string', String(samples));
	return samples;
};
const ratings = ({ steps }: StepSample) => steps.map(({ rating }) => rating);

describe('published step-labeled data', () => {
	it('PRM800K: the chosen path and its alternatives', () => {
		const lines = fixture('prm800k_phase2.jsonl');
		assert.deepEqual(lines.map(stepDataForm), ['prm800k', 'prm800k', 'prm800k']);
		const [first, second, third] = lines.map(read) as [StepSample[], StepSample[], StepSample[]];
		assert.equal(first.length, 1);
		assert.deepEqual(ratings(first[0] as StepSample), [0, 1, 1]);
		assert.equal(first[0]?.answer, '13');
		assert.equal(first[0]?.time, Date.parse('2023-01-20T04:34:27.052Z') / 1000);
		// The labeler wrote one step, which counts as correct. Four steps were offered but not chosen.
		assert.deepEqual(second.map(ratings), [
			[0, 1, 1],
			[0, -1],
			[0, 0],
			[0, 1, -1],
			[0, 1, -1],
		]);
		assert.equal(second[0]?.steps.at(-1)?.text, 'With n = 18 this is 18^2 = 324.');
		assert.deepEqual(third.map(ratings), [[0, -1]]);
		const human = structuredClone(lines[1]) as { label: { steps: { human_completion: unknown }[] } };
		(human.label.steps[2] as { human_completion: unknown }).human_completion = { text: 'It is 324.', rating: null };
		assert.equal(read(human)[0]?.steps.at(-1)?.text, 'It is 324.');
	});

	it('Math-Shepherd: steps end with a token, and labels replace it', () => {
		const lines = fixture('math-shepherd.jsonl');
		const samples = lines.flatMap(read);
		assert.deepEqual(samples.map(ratings), [
			[1, 1, 1],
			[-1, -1],
			[1, 1, 1],
			[1, -1],
		]);
		assert.equal(samples[0]?.prompt, 'Solve for x: 8x + 19 = 123.');
		assert.equal(samples[0]?.steps[1]?.text, 'Step 2: Divide by 8: x = 13.');
		for (const [i, sample] of samples.entries()) {
			assert.deepEqual(writeMathShepherd(sample), { ...(lines[i] as object), task: 'reasoning-lab' });
		}
	});

	it('ProcessBench: the first incorrect step, with and without predictions', () => {
		const lines = ['processbench_gsm8k.jsonl', 'eval_gsm8k_error.jsonl', 'eval_gsm8k_correct.jsonl'].map(fixture);
		const samples = lines.flat().flatMap(read);
		assert.deepEqual(samples.map(ratings), [
			[1, 1, 1],
			[-1, null],
			[-1, null, null],
			[1, 1, 1],
			[-1, null],
			[-1, null, null],
			[1, 1, 1],
			[1, 1, 1],
		]);
		for (const [i, line] of (lines[0] ?? []).entries()) {
			const {
				id,
				generator,
				final_answer_correct: correct,
			} = line as { id: string; generator: string; final_answer_correct: boolean };
			assert.deepEqual(writeProcessBench(samples[i] as StepSample, { id, generator, correct }), line);
		}
	});

	it('TRL stepwise supervision', () => {
		const line = { prompt: 'p', completions: ['a', 'b'], labels: [true, false] };
		assert.deepEqual(read(line).map(ratings), [[1, -1]]);
		assert.deepEqual(writeTrlStepwise(read(line)[0] as StepSample), line);
	});

	it('malformed data is reported with a message', () => {
		for (const [value, reason] of [
			[null, /not in a supported step label format/],
			[[], /not in a supported step label format/],
			['text', /not in a supported step label format/],
			[{ question: {}, label: {} }, /not a PRM800K line \(question\.problem\)/],
			[{ question: { problem: 'p' }, label: { steps: [{ completions: [{ text: 1 }] }] } }, /not a PRM800K line/],
			[{ prompt: 'p', completions: ['a'], labels: [] }, /1 completions but 0 labels/],
			[{ prompt: 'p', completions: ['a'], labels: ['yes'] }, /labels\[0\]/],
			[{ input: 'p Step 1: a', label: 'p Step 1: a' }, /has no step/],
			[{ input: 'p Step 1: a \u043a\u0438', label: 'p Step 1: b +' }, /labels whose text differs/],
			[{ input: 'p Step 1: a \u043a\u0438', label: 'p Step 1: a ?' }, /labels whose text differs/],
			[{ input: 'p a \u043a\u0438', label: 'p a +' }, /no "Step 1:"/],
			[{ problem: 'p', steps: ['a'], label: 1 }, /labels step 1 as wrong but has only 1 step/],
			[{ problem: 'p', steps: ['a'], label: -2 }, /not a ProcessBench line/],
		] as const) {
			const samples = readStepSamples(value);
			assert.ok(
				typeof samples === 'string' && reason.test(samples),
				`${JSON.stringify(value)}: ${JSON.stringify(samples)}`,
			);
		}
	});
});

describe('labels exported as step-labeled data', () => {
	const sample = (...list: StepSample['steps'][number]['rating'][]): StepSample => ({
		prompt: 'Solve for x: 8x + 19 = 123.',
		answer: '13',
		steps: list.map((rating, i) => ({ text: `step ${i}`, rating })),
		time: 1_763_640_000.5,
	});

	it('PRM800K ends at the first incorrect step or where rating stopped', () => {
		const line = (...list: Parameters<typeof sample>) => writePrm800k(sample(...list), 0);
		assert.deepEqual(line(1, 0, 1)?.label.finish_reason, 'solution');
		assert.deepEqual(line(1, 0, null)?.label, {
			steps: [
				{ completions: [{ text: 'step 0', rating: 1, flagged: null }], human_completion: null, chosen_completion: 0 },
				{ completions: [{ text: 'step 1', rating: 0, flagged: null }], human_completion: null, chosen_completion: 0 },
			],
			total_time: null,
			finish_reason: 'give_up',
		});
		const wrong = line(1, -1, 1);
		assert.equal(wrong?.label.finish_reason, 'found_error');
		assert.deepEqual(
			wrong?.label.steps.map((step) => step.chosen_completion),
			[0, null],
		);
		assert.deepEqual(wrong?.question.pre_generated_steps, ['step 0', 'step 1', 'step 2']);
		assert.equal(wrong?.timestamp, '2025-11-20T12:00:00.500000');
		assert.equal(line(null, null), null);
		// Round trip: the output can be read back.
		assert.deepEqual(readPrm800k(line(1, 0, 1)), [sample(1, 0, 1)]);
		assert.deepEqual((readPrm800k(wrong) as StepSample[]).map(ratings), [[1, -1]]);
	});

	it('stepwise supervision treats neutral steps like TRL, and stops before unrated steps', () => {
		const labels = (...list: Parameters<typeof sample>) => writeTrlStepwise(sample(...list))?.labels;
		assert.deepEqual(labels(1, 0, -1, 1), [true, false, false, true]);
		assert.deepEqual(writeTrlStepwise(sample(1, 0), 'right')?.labels, [true, true]);
		assert.deepEqual(labels(1, null, -1), [true]);
		assert.equal(labels(null, 1), undefined);
		assert.deepEqual((readTrlStepwise(writeTrlStepwise(sample(1, -1))) as StepSample[]).map(ratings), [[1, -1]]);
	});

	it('Math-Shepherd numbers its steps and rejects texts that contain its token', () => {
		const line = writeMathShepherd(sample(1, -1));
		assert.deepEqual(line, {
			input: 'Solve for x: 8x + 19 = 123. Step 1: step 0 \u043a\u0438\nStep 2: step 1 \u043a\u0438',
			label: 'Solve for x: 8x + 19 = 123. Step 1: step 0 +\nStep 2: step 1 -',
			task: 'reasoning-lab',
		});
		assert.deepEqual((readMathShepherd(line) as StepSample[]).map(ratings), [[1, -1]]);
		const broken = { ...sample(1), steps: [{ text: 'a \u043a\u0438 b', rating: 1 as const }] };
		assert.equal(typeof writeMathShepherd(broken), 'string');
	});

	it('ProcessBench requires a rating for every step before the first incorrect one', () => {
		const write = (...list: Parameters<typeof sample>) =>
			writeProcessBench(sample(...list), { id: 'a', generator: 'g', correct: null })?.label;
		assert.deepEqual(
			[write(1, 0, 1), write(1, -1, null), write(-1), write(null, -1), write(1, null), write()],
			[-1, 1, 0, undefined, undefined, undefined],
		);
		const back = readProcessBench(writeProcessBench(sample(1, -1, null), { id: 'a', generator: 'g', correct: true }));
		assert.deepEqual((back as StepSample[]).map(ratings), [[1, -1, null]]);
	});
});
