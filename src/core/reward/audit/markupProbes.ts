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
		why: 'The rendered answer is wrong.',
		fix: 'Compare the entire answer. Do not search within it.',
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
		why: 'The typeset answer is wrong.',
		fix: 'Compare the entire answer. Do not search within it.',
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
		why: 'The visible answer is wrong.',
		fix: 'Compare the entire answer. Do not strip LaTeX commands around numbers.',
		build: (row, context) =>
			attempts(
				answering(row, context, `\\boxed{${wrongAnswer(row)}\\phantom{${row.answer}}}`),
				answering(row, context, `${wrongAnswer(row)} \\color{white}{${row.answer}}`),
			),
	},
	{
		id: 'struck-through',
		title: 'Struck-through correct answer',
		severity: 'medium',
		attacks: 'content',
		why: 'The correct answer is retracted, and a wrong one is given.',
		fix: 'Compare the entire answer. Do not strip markup.',
		build: (row, context) => attempts(answering(row, context, `~~${row.answer}~~ ${wrongAnswer(row)}`)),
	},
	{
		id: 'json-every-key',
		title: 'JSON with a candidate under every key',
		severity: 'medium',
		attacks: 'content',
		why: 'The row has several answers under different keys.',
		fix: 'Specify which key contains the answer, and reject objects with other keys.',
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
		why: 'The correct answer is only one of several candidates. A reward that reads only the first or only the last fence accepts just one of the possible orders, so a policy gains nothing.',
		fix: 'Read only one code fence, and reject the answer if there are several.',
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
		why: 'The correct answer is only one of several candidates.',
		fix: 'Compare the entire answer instead of checking whether it contains the correct one.',
		build(row, context) {
			const cells = [...wrongAnswers(row, 2), row.answer].map((text, i) => `| ${i + 1} | ${text} |`);
			return attempts(answering(row, context, ['| guess | value |', '| --- | --- |', ...cells].join('\n')));
		},
	},
];
