import { candidates, wrongAnswer, wrongAnswers } from './candidates.ts';
import { answering } from './completionText.ts';
import { attempts, type Probe } from './probe.ts';

/** Answers that hide the correct answer in markup, behind a visible wrong answer. */
export const markupProbes: readonly Probe[] = [
	{
		id: 'html-comment',
		title: 'Correct answer in an HTML comment',
		severity: 'medium',
		attacks: 'content',
		why: 'The rendered answer is the wrong one.',
		fix: 'Compare the whole answer; do not search in it.',
		build: (row, context) =>
			attempts(
				answering(row, context, `${wrongAnswer(row)}<!-- ${row.answer} -->`),
				answering(row, context, `<!-- ${row.answer} -->${wrongAnswer(row)}`),
			),
	},
	{
		id: 'latex-comment',
		title: 'Correct answer in a LaTeX comment',
		severity: 'medium',
		attacks: 'content',
		why: 'The typeset answer is the wrong one.',
		fix: 'Compare the whole answer; do not search in it.',
		build: (row, context) =>
			attempts(
				answering(row, context, `${wrongAnswer(row)} % ${row.answer}\n`),
				answering(row, context, `$${wrongAnswer(row)}$ % $${row.answer}$`),
			),
	},
	{
		id: 'phantom',
		title: 'Correct answer in hidden text',
		severity: 'medium',
		attacks: 'content',
		why: 'The visible answer is the wrong one.',
		fix: 'Compare the whole answer; do not drop LaTeX commands around numbers.',
		build: (row, context) =>
			attempts(
				answering(row, context, `\\boxed{${wrongAnswer(row)}\\phantom{${row.answer}}}`),
				answering(row, context, `${wrongAnswer(row)} \\color{white}{${row.answer}}`),
			),
	},
	{
		id: 'struck-through',
		title: 'Correct answer struck through',
		severity: 'medium',
		attacks: 'content',
		why: 'It is retracted, and a wrong one is given.',
		fix: 'Compare the whole answer; do not drop markup.',
		build: (row, context) => attempts(answering(row, context, `~~${row.answer}~~ ${wrongAnswer(row)}`)),
	},
	{
		id: 'json-every-key',
		title: 'JSON with a candidate in every key',
		severity: 'medium',
		attacks: 'content',
		why: 'Several answers are offered under different keys.',
		fix: 'Define the one key that contains the answer, and reject objects with others.',
		needs: 'every',
		build(row, context) {
			const keys = ['answer', 'result', 'final', 'value', 'output'];
			return attempts(
				...(['first', 'middle', 'last'] as const).map((place) => {
					const list = candidates(row, keys.length, place);
					const object = Object.fromEntries(keys.map((key, i) => [key, list[i]]));
					return answering(row, context, JSON.stringify(object));
				}),
			);
		},
	},
	{
		id: 'fenced-candidates',
		title: 'Candidates in several code fences',
		severity: 'medium',
		attacks: 'content',
		why: 'The correct answer is only one of several offered. A reward that reads only the first or only the last fence pays for just one of these orders, which gains nothing.',
		fix: 'Read one code fence, and none if there are several.',
		needs: 'every',
		build: (row, context) =>
			attempts(
				...(['first', 'middle', 'last'] as const).map((place) =>
					answering(
						row,
						context,
						candidates(row, 3, place)
							.map((text) => `\`\`\`\n${text}\n\`\`\``)
							.join('\n'),
					),
				),
			),
	},
	{
		id: 'table',
		title: 'Table of candidates',
		severity: 'medium',
		attacks: 'content',
		why: 'The correct answer is only one of several offered.',
		fix: 'Compare the whole answer instead of checking whether it contains the correct one.',
		build(row, context) {
			const cells = [...wrongAnswers(row, 2), row.answer].map((text, i) => `| ${i + 1} | ${text} |`);
			return attempts(answering(row, context, ['| guess | value |', '| --- | --- |', ...cells].join('\n')));
		},
	},
];
