import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { objects, Workplace } from './cliFixtures.ts';

/**
 * Creates a policy that always knows the answers to half of the questions, and the others in a fraction of the samples.
 */
const pupil = (known: number) => ({
	name: 'a pupil',
	rules: Array.from({ length: 12 }, (_, i) => ({
		prompt: `q${i} is what number?`,
		say:
			i < known
				? [`<think>sure</think><answer>${i}</answer>`]
				: ['<think>well</think><answer>7000</answer>', '<think>well</think><answer>8000</answer>'],
	})),
});

async function placeWith(context: Parameters<typeof Workplace.make>[0]): Promise<Workplace> {
	const place = await Workplace.make(context);
	const rows = Array.from({ length: 12 }, (_, i) => ({
		prompt: `q${i} is what number?`,
		answer: i,
		subject: i % 3 === 0 ? 'numbers' : 'words',
	}));
	rows.push({ prompt: 'q99 has no answer', answer: null as unknown as number, subject: 'none' });
	await writeFile(join(place.folder, 'questions.jsonl'), rows.map((row) => JSON.stringify(row)).join('\n'));
	const training = [{ prompt: 'something else' }, { messages: [{ role: 'user', content: 'Say: Q3 is what number?' }] }];
	await writeFile(join(place.folder, 'train.jsonl'), `${training.map((row) => JSON.stringify(row)).join('\n')}\n`);
	await writeFile(join(place.folder, 'good.json'), JSON.stringify(pupil(9)));
	await writeFile(join(place.folder, 'bad.json'), JSON.stringify(pupil(2)));
	return place;
}

describe('reasoning-lab evaluate', () => {
	it('evaluates a policy, resumes after an interruption, and reports a drop below a baseline', async (context) => {
		const place = await placeWith(context);
		const asked = ['--dataset', 'questions.jsonl', '--samples', '4', '--category', 'subject'];
		const first = await place.run(context, 'evaluate', '--policy', 'good.json', ...asked, '--out', 'good');
		assert.equal(first.status, 0, first.stderr);
		assert.match(first.stdout, /Skipped question 13: it has no answer to compare with\./);
		assert.match(first.stdout, /a pupil on questions\.jsonl: 12 questions, 4 samples each/);
		assert.match(first.stdout, /pass@1 {4}0\.750 \(0\.\d+ to 0\.\d+\), 95% interval/);
		assert.match(first.stdout, /pass@k {4}1: 0\.750, 2: 0\.750, 4: 0\.750/);
		assert.match(first.stdout, /words: 0\.750 .*8 questions\n {2}numbers: 0\.750 .*4 questions/);

		// Five and a half questions, as left by a process that was killed.
		const samples = join(place.folder, 'good/samples.jsonl');
		const lines = readFileSync(samples, 'utf8').trimEnd().split('\n');
		assert.equal(lines.length, 12);
		writeFileSync(samples, `${lines.slice(0, 5).join('\n')}\n${lines[5]?.slice(0, 40)}`);
		const again = await place.call('evaluate', '--policy', 'good.json', ...asked, '--out', 'good', '--json');
		const result = objects(again.stdout);
		assert.deepEqual(
			result
				.filter(({ kind }) => kind === 'progress')
				.map(({ done }) => done)
				.at(0),
			5,
			'progress starts from the stored samples',
		);
		const whole = readFileSync(samples, 'utf8').trimEnd().split('\n');
		const byProblem = (list: readonly string[]) =>
			list
				.filter((line) => line.endsWith('}'))
				.map((line) => JSON.parse(line) as { problem: number })
				.sort((a, b) => a.problem - b.problem);
		assert.deepEqual(byProblem(whole), byProblem(lines), 'the same samples as without the interruption');

		const worse = await place.call(
			'evaluate',
			...['--policy', 'bad.json', ...asked, '--out', 'bad', '--baseline', 'good'],
		);
		assert.equal(worse.status, 1);
		assert.match(worse.stdout, /baseline {2}0\.750, now 0\.167: -0\.583 \(.*\) on 12 questions/);
		assert.match(worse.stdout, /Accuracy fell \(p < 0\.05\)\./);
		const better = await place.call(
			'evaluate',
			...['--policy', 'good.json', ...asked, '--out', 'good', '--baseline', 'bad'],
			...['--against', 'bad.json', '--train', 'train.jsonl'],
		);
		assert.equal(better.status, 0, better.stdout);
		assert.match(better.stdout, /against {3}0\.167, now 0\.750: \+0\.583 \(.*\) on 12 questions.*\n +7 gained, 0 lost/);
		assert.match(
			better.stdout,
			/training {2}1 of 2 rows in train\.jsonl overlaps .* first on line 2: "q3 is what number"/,
		);
		const kept = JSON.parse(readFileSync(join(place.folder, 'good/contamination.json'), 'utf8'));
		assert.deepEqual([kept.questions, kept.files[0].overlapping], [12, 1]);
	});

	it('reads, samples and scores a benchmark, and shows published results for comparison', async (context) => {
		const place = await placeWith(context);
		const rows = [0, 1, 2].map((i) => ({ problem: `q${i} is what number?`, answer: `${i}`, subject: 'counting' }));
		await writeFile(join(place.folder, 'math.jsonl'), rows.map((row) => JSON.stringify(row)).join('\n'));
		const ended = await place.call(
			'evaluate',
			...['--policy', 'bad.json', '--benchmark', 'math-500', '--dataset', 'math.jsonl', '--json'],
		);
		assert.equal(ended.status, 0, ended.stderr);
		const result = objects(ended.stdout).at(-1) as unknown as {
			folder: string;
			report: { samples: number[]; accuracy: { accuracy: number }; categories: { name: string }[] };
			published: { model: string; source: string }[];
		};
		assert.equal(result.folder, join(place.folder, 'evaluations/math-500-bad'));
		assert.deepEqual(result.report.samples, [4, 4]);
		assert.ok(Math.abs(result.report.accuracy.accuracy - 2 / 3) < 1e-9);
		assert.deepEqual(
			result.report.categories.map(({ name }) => name),
			['counting'],
		);
		assert.equal(result.published.length, 15);
		const { spec } = JSON.parse(readFileSync(join(result.folder, 'evaluation.json'), 'utf8'));
		assert.deepEqual([spec.sampling.temperature, spec.sampling.topP, spec.problems.benchmark], [0.6, 0.95, 'math-500']);
	});

	it('reports invalid input in one message', async (context) => {
		const place = await placeWith(context);
		const run = (...args: string[]) => place.call('evaluate', ...args);
		// Each case starts a separate process.
		const cases: readonly (readonly [string[], RegExp])[] = [
			[['--policy', 'good.json'], /No questions specified\..*--dataset/],
			[['--policy', 'good.json', '--dataset', 'questions.jsonl', '--baseline', '.'], /does not contain an evaluation/],
			[['--policy', 'good.json', '--benchmark', 'aime'], /--benchmark aime requires a dataset file\./],
		];
		for (const [args, words] of cases) {
			const { status, stderr } = await run(...args);
			assert.equal(status, 2, args.join(' '));
			assert.match(stderr, words);
		}
		const same = ['--dataset', 'questions.jsonl', '--out', 'one'];
		assert.equal((await run('--policy', 'good.json', ...same)).status, 0);
		const other = await run('--policy', 'good.json', ...same, '--samples', '2');
		assert.equal(other.status, 2);
		assert.match(other.stderr, /contains an evaluation with a different specification or policy/);
	});
});
