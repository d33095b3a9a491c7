import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CliOutput } from '../../../src/cli/cliOutput.ts';
import { againstLines, evaluationLines } from '../../../src/cli/evaluationText.ts';
import { pipelineLines, roundLines, stageLine } from '../../../src/cli/pipelineText.ts';
import { csvLines, tableLines } from '../../../src/cli/queryVerb.ts';
import { hiddenCharacters } from '../../../src/core/text/hiddenCharacters.ts';
import { spreadsheetText } from '../../../src/core/text/spreadsheetText.ts';
import type { PipelineView, StageView } from '../../../src/runs/pipeline/pipelineView.ts';
import type { Evaluation } from '../../../src/search/evaluate/evaluatePolicy.ts';
import { toCsv } from '../../../webview/lib/charts/csv.ts';
import { allHostileTexts, hostileValue } from '../../support/hostileValue.ts';
import { madeEvaluation } from '../core/report/madeReport.ts';

/** Returns what is printed to a terminal or to a file. */
function printed(json: boolean, print: (output: CliOutput) => void): string {
	let text = '';
	const stream = { isTTY: true, columns: 80, write: (part: string) => (text += part) };
	print(new CliOutput(json, stream as never, stream as never));
	return text;
}

/** Checks that a terminal only displays the text: no control characters except newlines and tabs, nothing hidden. */
function onlyShown(text: string, where: string): void {
	assert.doesNotMatch(text, /\r/, where);
	assert.deepEqual(hiddenCharacters(text).slice(0, 3), [], where);
}

const stage: StageView = {
	...{ name: 'cold', type: 'grpo', status: 'failed', done: 3, total: 9, accuracy: 0.5, seconds: 12, why: 'no rows' },
	...{ device: 'cpu', tokens: 12, costs: [{ amount: 1, currency: 'USD' }] },
	...{ partial: 'half of it', folder: '/w/cold', kept: ['cold.1'] },
};
const kept = ['status', 'kind'];

test('a terminal does not interpret text in a pipeline, an evaluation, a table or a failure', () => {
	const pipeline: PipelineView = {
		...{ folder: '/w', name: 'story', status: 'failed', stages: [stage, { ...stage, status: 'skipped' }] },
		record: { error: { reason: 'invalid', message: 'it failed', action: 'mend it' } } as never,
	};
	const { report } = madeEvaluation('first', 3);
	const evaluation: Evaluation = {
		...{ policy: 'tiny', model: 'm', problems: 'questions', done: 9, total: 12, report, questions: [] },
		failures: [{ message: 'no response', count: 2 }] as Evaluation['failures'],
		contamination: null,
		notes: [],
	};
	const table = {
		columns: [
			{ name: 'a', type: 'VARCHAR' },
			{ name: 'b', type: 'VARCHAR' },
		],
		rows: [
			['x', 'y'],
			['z', null],
		],
	} as never;
	for (let i = 0; i < allHostileTexts.length; i++) {
		const text = allHostileTexts[i] as string;
		const shown = printed(false, (output) => {
			const view = hostileValue(pipeline, i, kept);
			for (const line of pipelineLines(view)) output.line(line);
			for (const one of view.stages) output.line(stageLine(one) ?? '');
			for (const line of roundLines({ of: text.slice(0, 300), points: [] } as never)) output.line(line);
			for (const line of evaluationLines(hostileValue(evaluation, i, kept))) output.line(line);
			for (const line of againstLines(text.slice(0, 300), { test: 'none', reason: text.slice(0, 300) } as never)) {
				output.line(line);
			}
			for (const line of tableLines(hostileValue(table, i))) output.line(line);
			output.note(text.slice(0, 5000));
			output.failure(new Error(text.slice(0, 5000)));
		});
		onlyShown(shown, `from text ${i}`);
	}
});

test('JSON output preserves every string exactly and contains nothing that a terminal interprets', () => {
	for (const text of allHostileTexts) {
		const line = printed(true, (output) => output.object({ text, [text.slice(0, 50)]: 1 }));
		// Joiners, selectors and fillers are invisible, but terminals do not interpret them, so JSON keeps them.
		assert.doesNotMatch(line.slice(0, -1), /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/u);
		assert.equal(JSON.parse(line).text, text);
	}
});

/** Parses CSV per RFC 4180: fields are quoted if necessary, with quotes doubled. */
function parseCsv(text: string): string[][] {
	const rows: string[][] = [[]];
	for (const [, quoted, bare, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\n]*))(,|\n|$)/g)) {
		(rows.at(-1) as string[]).push(quoted === undefined ? (bare ?? '') : quoted.replaceAll('""', '"'));
		if (end === '\n') rows.push([]);
		if (end === '') break;
	}
	return rows;
}

test('CSV cells keep hostile strings and formulas as text', () => {
	const formulas = ['=1+1', '+SUM(A1)', '-2+3', '@x', '\t=1', '\r=1', '="a"&"b"', "=cmd|' /C calc'!A0", '-1.5', '+2e3'];
	const texts = [...allHostileTexts, ...formulas];
	const cells = [...csvLines({ columns: texts.map((name) => ({ name })), rows: [texts] } as never)].join('\n');
	const [head, row] = parseCsv(cells);
	assert.deepEqual(head, texts.map(spreadsheetText));
	assert.deepEqual(row, texts.map(spreadsheetText));
	const page = toCsv(texts.map((name) => ({ name, values: [name] })) as never, { length: 1, 0: 0 });
	for (const cell of (parseCsv(page.replaceAll('\r\n', '\n'))[0] ?? []).filter((cell) => cell !== '')) {
		assert.ok(!/^[=+@-]/.test(cell) || !Number.isNaN(Number(cell)), JSON.stringify(cell.slice(0, 80)));
	}
});
