import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import type { ScriptInput } from '../../../../src/policies/scripted/script.ts';
import { decodeOrThrow } from '../../../../src/protocol/decode.ts';
import { type EvaluationSpec, evaluationSpecSchema } from '../../../../src/protocol/evaluationFolder.ts';
import { readQuestions } from '../../../../src/runs/evaluationFiles.ts';
import { evaluatePolicy } from '../../../../src/search/evaluate/evaluatePolicy.ts';
import { guessing } from '../episodes/weakGuesser.ts';
import { contextFor, folderFor, scriptIn } from '../searchFixtures.ts';

/** Guesses 8, then 12 if that is too low, then stops. */
const guesser: ScriptInput = {
	rules: [
		{ after: '*up</result>', say: '<call>guess 12</call>' },
		{ after: '*</result>', say: 'I stop.' },
		{ say: '<call>guess 8</call>' },
	],
};

it('an evaluation plays episodes, records their turns, grades them by reward, and excludes failed ones', async (context) => {
	const folder = await folderFor(context);
	const fails = guessing.replace(
		'this.number = number;',
		"if (number === 13) throw new Error('no level'); this.number = number;",
	);
	await writeFile(join(folder, 'made.env.ts'), fails);
	// Rows can have the same prompt.
	const rows = [8, 12, 20, 13].map((number) => JSON.stringify({ prompt: 'Guess:', answer: null, number }));
	await writeFile(join(folder, 'rows.jsonl'), rows.join('\n'));
	const policy = { kind: 'scripted', file: await scriptIn(folder, guesser) };
	const problems = { from: 'file', path: 'rows.jsonl' };
	const specWith = (more: object): EvaluationSpec =>
		decodeOrThrow(evaluationSpecSchema, { name: 'guess', policy, problems, samples: 2, ...more }, 'The evaluation');
	const environment = { file: 'made.env.ts', maxTurns: 2 };
	const search = contextFor(context, folder);
	const path = join(folder, 'episodes');
	const { done, total, failures, questions, report, notes } = await evaluatePolicy({
		...{ spec: specWith({ environment }), folder: path, context: search },
	});
	assert.deepEqual([done, total, notes], [3, 4, []]);
	assert.match(failures[0]?.message ?? '', /no level/);
	assert.deepEqual(
		questions.map(({ samples }) => samples.map(({ correct }) => correct)),
		[
			[true, true],
			[true, true],
			[false, false],
		],
	);
	const turn = (number: number, content: string) => ({
		calls: [{ name: 'guess', arguments: { number } }],
		results: [{ name: 'guess', content, failed: false }],
	});
	assert.deepEqual(questions[1]?.samples[0]?.episode, {
		calls: 2,
		failures: 0,
		turns: [turn(8, 'up'), turn(12, 'yes')],
	});
	assert.equal(report.accuracy.accuracy, 2 / 3);
	assert.deepEqual([...(await readQuestions(path, 4)).values()], questions);
	assert.equal(new Set(questions.map(({ key }) => key)).size, 3);
	await writeFile(join(folder, 'rows.jsonl'), rows.with(0, rows[1] ?? '').join('\n'));
	await assert.rejects(
		evaluatePolicy({ spec: specWith({ environment }), folder: path, context: search }),
		/different questions/,
	);

	// Neither a prompt nor an answer is needed, and an error in a row is reported.
	const bare = [8, 12].map((number) => JSON.stringify({ number, ask: 'Guess:' }));
	await writeFile(join(folder, 'bare.jsonl'), [...bare, '{"number": '].join('\n'));
	const faults: number[] = [];
	const without = await evaluatePolicy({
		...{ spec: specWith({ environment, problems: { ...problems, path: 'bare.jsonl', prompt: 'ask' } }) },
		...{ folder: join(folder, 'bare'), context: search, onFault: ({ line }) => faults.push(line) },
	});
	assert.deepEqual([without.done, without.questions[0]?.prompt, faults], [2, 'Guess:', [3]]);

	const judged = evaluatePolicy({
		...{ spec: specWith({ environment, judge: { use: 'majority' } }), folder: join(folder, 'judged'), context: search },
	});
	await assert.rejects(judged, /judged by their environment's reward/);
	await writeFile(join(folder, 'mute.env.ts'), guessing.replace('getReward', 'private hidden'));
	const mute = evaluatePolicy({
		...{ spec: specWith({ environment: { file: 'mute.env.ts' } }), folder: join(folder, 'mute'), context: search },
	});
	await assert.rejects(mute, /has no get_reward/);
});
