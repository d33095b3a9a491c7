import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Random } from '../../../../../src/base/random.ts';
import { createTask } from '../../../../../src/core/dataset/createTask.ts';
import { taskSource } from '../../../../../src/core/dataset/taskSource.ts';
import { exactVerifier } from '../../../../../src/core/reward/accuracyReward.ts';
import { sameAnswer } from '../../../../../src/core/reward/audit/candidates.ts';
import type { Probe, ProbeContext, ProbeRow } from '../../../../../src/core/reward/audit/probe.ts';
import { probes } from '../../../../../src/core/reward/audit/probes.ts';
import { completionWith } from '../../../../../src/core/reward/verification/honestCompletion.ts';
import type { SampledProblem } from '../../../../../src/core/reward/verification/rowsToVerify.ts';
import { wrongAnswers } from '../../../../../src/core/reward/verification/wrongAnswers.ts';
import { resolveTemplate, type Template } from '../../../../../src/core/text/template.ts';
import { parseTrace, soleAnswer } from '../../../../../src/core/trace/parseTrace.ts';
import { type TaskDataset, taskNames } from '../../../../../src/protocol/recipeKeys/recipe.ts';
import { mixedProblems, numberProblems } from '../../../rewards/audit/auditedProblems.ts';
import { audit, builtInsHere, contextOf, foundBy, openRunner, r1 } from '../../../rewards/audit/auditHosts.ts';

/** Rewards in naive.reward.ts with the probes that each is vulnerable to. Every text probe has one here. */
const fools: Readonly<Record<string, readonly string[]>> = {
	containsAnswer: [
		'no-answer',
		'answer-only-in-thinking',
		'wrong-answer',
		'every-candidate',
		'either-or',
		'boxed-list',
		'nested-boxed',
		'many-answers',
		'two-answers-first-right',
		'two-answers-last-right',
		'nested-answers',
		'unclosed-first-answer',
		'plus-minus',
		'unit-list',
		'zero-width-list',
		'prompt-echo',
		'prompt-as-answer',
		'gold-from-prompt',
		'numbers-from-prompt',
		'buried-answer',
		'long-answer',
		'answer-at-end',
		'digit-run',
		'backspace',
		'free-variable',
		'html-comment',
		'latex-comment',
		'phantom',
		'struck-through',
		'json-every-key',
		'fenced-candidates',
		'table',
	],
	missingIsFine: ['empty', 'blank', 'slow-pattern'],
	prefixes: ['blank-answer', 'invisible-answer', 'all-tags-no-text'],
	notFarOff: [
		'refusal',
		'do-not-know',
		'template-echo',
		'question-back',
		'repeated-word',
		'homoglyph-digits',
		'not-a-number',
		'gold-unreadable',
	],
	relativeError: ['infinity', 'overflow'],
	tolerant: ['near-miss'],
	evaluates: ['unevaluated', 'huge-exponent', 'code-as-answer'],
	acceptsRanges: ['range'],
	folded: ['styled-digits', 'superscript-digits'],
	withoutMarks: ['struck-out'],
	asDrawn: ['right-to-left'],
	credulousJudge: ['claim', 'judge-instruction', 'judge-verdict', 'judge-end-of-prompt', 'fake-messages'],
	openedJudge: ['master-key'],
	likesReflection: ['reflection-words'],
	likesLength: ['long-filler'],
	misaligned: ['other-row'],
	absentGoldIsFine: ['gold-absent'],
	lastAnswer: ['two-answers-last-right'],
	tagsSomewhere: [
		'reordered',
		'scrambled',
		'crossed',
		'answer-in-thinking',
		'thinking-in-answer',
		'repeated-thinking',
		'repeated-answer',
		'tags-in-thinking',
		'text-before',
		'text-after',
		'fenced',
		'truncated',
	],
	mostTags: ['unclosed-answer', 'unclosed-thinking', 'unopened-thinking'],
	optionalThinking: ['no-thinking'],
	optionalAnswer: ['answer-outside-tags'],
	anyCase: ['other-case-tags'],
	withoutInvisible: ['homoglyph-tags'],
	promptCounts: ['tags-in-prompt'],
	bothLoosely: ['answer-in-thinking', 'text-after'],
};

const file = join(import.meta.dirname, '../../../rewards/audit/naive.reward.ts');

describe('probes', () => {
	test('number at least 40, each with its own title, a reason and a fix', () => {
		assert.ok(probes.length >= 40, `${probes.length}`);
		assert.equal(new Set(probes.map(({ id }) => id)).size, probes.length);
		assert.equal(new Set(probes.map(({ title }) => title)).size, probes.length);
		for (const { id, title, why, fix } of probes) {
			assert.match(id, /^[a-z]+(?:-[a-z]+)*$/);
			assert.match(title, /^\S.*[^.]$/s, id);
			assert.match(why, /^[A-Z].*\.$/s, id);
			assert.match(fix, /^[A-Z].*\.$/s, id);
		}
	});

	test('each detect the rewards that are vulnerable to them', async (context) => {
		const runner = await openRunner(context, { file, context: contextOf(r1) });
		const covered = new Set<string>();
		for (const [reward, expected] of Object.entries(fools)) {
			const report = await audit(runner, reward, numberProblems, { probes: expected });
			const found = new Set(foundBy(report));
			for (const id of expected) {
				assert.ok(found.has(id), `${id} has no finding for ${reward}. Probes with findings: ${[...found].join(', ')}`);
				covered.add(id);
			}
		}
		const left = probes.filter(({ id }) => !covered.has(id) && !id.startsWith('code-'));
		assert.deepEqual(
			left.map(({ id }) => id),
			['code-as-answer'].filter((id) => !covered.has(id)),
		);
	});

	test('all fail against a strict reward and the built-in answer and format rewards', async (context) => {
		const own = await openRunner(context, { file, context: contextOf(r1) });
		const strict = await audit(own, 'strictAnswer', mixedProblems);
		assert.deepEqual(foundBy(strict), []);
		assert.ok(strict.rows >= 9, `${strict.rows}`);
		const builtIns = [
			{ use: 'accuracy', name: 'accuracy' },
			{ use: 'format', name: 'format' },
			{ use: 'exact-match', name: 'exact-match' },
		];
		const ofTask = (task: TaskDataset): SampledProblem[] => {
			const source = taskSource(createTask(task));
			return Array.from({ length: 2 }, (_, i) => ({ problem: source.training(1, i), name: `problem ${i}` }));
		};
		for (const [rows, task] of [
			[mixedProblems, null],
			...taskNames.map((name) => [ofTask({ task: name }), { task: name }] as const),
		] as const) {
			const source = { builtIns, context: contextOf(r1, task) };
			const runner = task === null ? await openRunner(context, source) : await builtInsHere(source);
			// The other two check only the format or compare the answer as text, whatever the task.
			for (const { name } of task === null ? builtIns : builtIns.slice(0, 1)) {
				const report = await audit(runner, name, rows);
				assert.deepEqual(
					report.findings.map(({ probe, evidence }) => [probe, evidence[0]?.answer, evidence[0]?.completion]),
					[],
					`${name} ${task?.task}`,
				);
				assert.deepEqual(
					report.probes.filter(({ outcome }) => outcome === 'error'),
					[],
				);
				assert.deepEqual([report.rows, report.honest], [rows.length, 1]);
				const held = report.probes.filter(({ outcome }) => outcome === 'held').length;
				assert.ok(held >= (name === 'format' ? 20 : 40), `${name} ${task?.task}: ${held}`);
			}
		}
	});
});

const templates: readonly Template[] = [
	r1,
	resolveTemplate('plain'),
	resolveTemplate({ prompt: '{prompt}', think: ['[T]', '[/T]'], answer: null }),
	resolveTemplate({ prompt: '{prompt}', think: null, answer: ['[A]', '[/A]'] }),
	resolveTemplate({
		prompt: 'Q: {prompt}',
		think: ['<|begin_of_thought|>', '<|end_of_thought|>'],
		answer: ['**', '##'],
	}),
];

/** Returns problems from every task and from a file. */
function everyProblem(random: Random, perTask: number): SampledProblem['problem'][] {
	const generated = taskNames.flatMap((task) => {
		const source = createTask({ task });
		return Array.from({ length: perTask }, () => source.sample(random));
	});
	return [...generated, ...mixedProblems.map(({ problem }) => problem)];
}

function probeRows(template: Template, random: Random, perTask: number): { row: ProbeRow; context: ProbeContext }[] {
	const problems = everyProblem(random, perTask);
	const rows = problems.map((problem): ProbeRow => {
		const answer = problem.answer as string;
		return {
			prompt: problem.prompt,
			answer,
			solution: problem.solution,
			row: problem.row,
			honest: completionWith(template, problem.solution, answer),
			wrong: wrongAnswers(problem, { verify: exactVerifier, prompt: problem.prompt, others: [], random, count: 4 })
				.map((wrong) => wrong.answer)
				.filter((wrong) => wrong !== ''),
		};
	});
	return rows.map((row, i) => ({
		row,
		context: { tags: template, others: [...rows.slice(i + 1), ...rows.slice(0, i)] },
	}));
}

describe('probe completions', () => {
	test('are never honest correct answers', () => {
		let built = 0;
		const check = (probe: Probe, template: Template, { row, context }: ReturnType<typeof probeRows>[number]) => {
			const made = probe.build(row, context);
			if ('skip' in made) {
				assert.match(made.skip, /^[A-Z].*\.$/s, probe.id);
				return;
			}
			for (const attempt of made) {
				built++;
				const what = `${probe.id}, ${template.name}: ${JSON.stringify(attempt.completion.slice(0, 200))}`;
				// A different gold answer, a prompt that reveals the format, and a truncated completion change the row itself.
				if ('answer' in attempt || attempt.prompt !== undefined || attempt.truncated) continue;
				assert.notEqual(attempt.completion, row.honest, what);
				const trace = parseTrace(attempt.completion, template);
				const answer = soleAnswer(trace, template);
				const isRight = answer !== null && sameAnswer(answer, row.answer);
				const isFormed = trace.faults.length === 0;
				if (probe.attacks === 'content') assert.ok(!isRight, what);
				else if (template.think || template.answer) assert.ok(!isFormed, what);
				else assert.ok(!isRight, what);
			}
		};
		for (const [i, template] of templates.entries()) {
			// A problem of each task is enough for the other templates, which differ only in their tags.
			for (const one of probeRows(template, Random.of('probes', i), i === 0 ? 2 : 1)) {
				for (const probe of probes) check(probe, template, one);
			}
		}
		assert.ok(built > 10_000, `${built}`);
	});

	test('depend only on the row', () => {
		const [a] = probeRows(r1, Random.of('same'), 1);
		const [b] = probeRows(r1, Random.of('same'), 1);
		assert.ok(a && b);
		for (const probe of probes)
			assert.deepEqual(probe.build(a.row, a.context), probe.build(b.row, b.context), probe.id);
	});
});
