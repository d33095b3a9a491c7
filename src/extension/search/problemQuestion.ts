import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { SearchProblem } from '../../protocol/treeLog.ts';
import { firstProblems } from '../../runs/dataset/tableProblems.ts';
import { displayText } from '../runView.ts';
import { chooseDatasetFile, datasetFileChoices } from './datasetFiles.ts';
import { problemOfLine } from './problemOfRow.ts';
import { askChoice, askText, type Choices, type NoAnswer, type Question } from './questions.ts';

type Answer = { readonly value: SearchProblem } | NoAnswer;

/** Maximum number of rows listed per file. To search on a later row, the user opens the file. */
const maxRows = 5000;

/** Prompts for the search problem: typed text, the selection, or a row of a dataset file. */
export async function askProblem(question: Question): Promise<Answer> {
	const editor = vscode.window.activeTextEditor;
	const selected = editor === undefined ? '' : editor.document.getText(editor.selection).trim();
	const row = editor === undefined ? null : problemOfLine(editor.document.lineAt(editor.selection.active.line).text);
	for (;;) {
		const choice = await askChoice<'selection' | 'line' | 'dataset' | 'type'>(question, [
			...(selected === ''
				? []
				: [
						{
							label: '$(selection) Selected text',
							description: displayText(selected, 80),
							value: 'selection' as const,
						},
					]),
			...(row === null
				? []
				: [
						{
							label: '$(list-flat) Row at the cursor',
							description: displayText(row.prompt, 80),
							value: 'line' as const,
						},
					]),
			{ label: '$(database) Dataset row...', value: 'dataset' as const },
			{ label: '$(edit) Enter problem...', value: 'type' as const },
		]);
		if (choice === 'back' || choice === 'cancel') return choice;
		if (choice.value === 'selection') return { value: { prompt: selected, answer: null, row: {} } };
		if (choice.value === 'line' && row !== null) return { value: row };
		const answer = choice.value === 'dataset' ? await askRow(question) : await askTyped(question);
		if (answer !== 'back') return answer;
	}
}

async function askTyped(question: Question): Promise<Answer> {
	const sub = { ...question, back: true };
	const prompt = await askText({ ...sub, title: 'Problem', placeholder: 'What is 17 + 25?' }, '', (text) =>
		text.trim() === '' ? 'Enter the problem.' : null,
	);
	if (prompt === 'back' || prompt === 'cancel') return prompt;
	const gold = await askText({ ...sub, title: 'Gold answer (optional)', placeholder: 'Leave blank if unknown' }, '');
	if (gold === 'back' || gold === 'cancel') return gold;
	return { value: { prompt: prompt.value, answer: gold.value.trim() === '' ? null : gold.value.trim(), row: {} } };
}

async function askRow(question: Question): Promise<Answer> {
	const sub = { ...question, back: true };
	for (;;) {
		const file = await askChoice<vscode.Uri | null>({ ...sub, title: 'Dataset file' }, datasetFileChoices());
		if (file === 'back' || file === 'cancel') return file;
		const uri = file.value ?? (await chooseDatasetFile());
		if (uri === undefined) continue;
		const row = await askChoice<SearchProblem>(
			{ ...sub, title: basename(uri.fsPath), placeholder: 'Select a row (type to search)' },
			rowChoices(uri.fsPath),
		);
		if (row !== 'back') return row;
	}
}

async function rowChoices(path: string): Promise<Choices<SearchProblem>> {
	const rows = await firstProblems(path, maxRows);
	return rows.map(({ place, problem }) => ({
		label: displayText(problem.prompt, 160),
		description: problem.answer === null ? place : `${place}, answer ${displayText(problem.answer, 40)}`,
		value: problem,
	}));
}
