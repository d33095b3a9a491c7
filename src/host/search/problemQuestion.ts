import { basename, dirname } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import type { SearchProblem } from '../../protocol/treeLog.ts';
import { LineSplitter } from '../../runs/jsonLines.ts';
import { openRegular } from '../../runs/safeFile.ts';
import { displayText } from '../runView.ts';
import { problemOfLine } from './problemOfRow.ts';
import { askChoice, askText, type Choices, type NoAnswer, type Question } from './questions.ts';

type Answer = { readonly value: SearchProblem } | NoAnswer;

/** Rows that are offered of one file; who wants a later one opens the file and searches on its row. */
const mostRows = 5000;
const mostBytes = 64 << 20;
const mostFiles = 500;

/** The problem of a search: typed, the selected text, or a row of a dataset file. */
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
							label: '$(selection) The selected text',
							description: displayText(selected, 80),
							value: 'selection' as const,
						},
					]),
			...(row === null
				? []
				: [
						{
							label: '$(list-flat) The row of the cursor',
							description: displayText(row.prompt, 80),
							value: 'line' as const,
						},
					]),
			{ label: '$(database) A row of a dataset file...', value: 'dataset' as const },
			{ label: '$(edit) Type it...', value: 'type' as const },
		]);
		if (choice === 'back' || choice === 'cancel') return choice;
		if (choice.value === 'selection') return { value: { prompt: selected, answer: null, row: {} } };
		if (choice.value === 'line' && row !== null) return { value: row };
		const answer = choice.value === 'dataset' ? await askRow(question) : await askTyped(question);
		if (answer !== 'back') return answer;
	}
}

async function askTyped(question: Question): Promise<Answer> {
	const sub = { ...question, step: 2, steps: question.steps };
	const prompt = await askText({ ...sub, title: 'The problem', placeholder: 'What is 17 + 25?' }, '', (text) =>
		text.trim() === '' ? 'Write the problem.' : null,
	);
	if (prompt === 'back' || prompt === 'cancel') return prompt;
	const gold = await askText(
		{ ...sub, title: 'The right answer, if it is known', placeholder: 'Leave it empty if it is not known' },
		'',
	);
	if (gold === 'back' || gold === 'cancel') return gold;
	return { value: { prompt: prompt.value, answer: gold.value.trim() === '' ? null : gold.value.trim(), row: {} } };
}

async function askRow(question: Question): Promise<Answer> {
	const sub = { ...question, step: 2 };
	for (;;) {
		const file = await askChoice<vscode.Uri | null>({ ...sub, title: 'A dataset file' }, datasetFiles());
		if (file === 'back' || file === 'cancel') return file;
		const uri = file.value ?? (await chooseFile());
		if (uri === undefined) continue;
		const row = await askChoice<SearchProblem>(
			{ ...sub, title: basename(uri.fsPath), placeholder: 'Which row; type to search' },
			rowChoices(uri.fsPath),
		);
		if (row !== 'back') return row;
	}
}

async function datasetFiles(): Promise<Choices<vscode.Uri | null>> {
	const found = await vscode.workspace.findFiles(
		'**/*.{jsonl,ndjson}',
		'**/{node_modules,.git,runs,searches,.trash,dist,venv,.venv}/**',
		mostFiles,
	);
	const files = found.filter(({ scheme }) => scheme === 'file').sort((a, b) => (a.path < b.path ? -1 : 1));
	return [
		...files.map((uri) => ({ label: displayText(vscode.workspace.asRelativePath(uri), 200), value: uri })),
		{ label: '$(folder-opened) Another file...', value: null },
	];
}

async function rowChoices(path: string): Promise<Choices<SearchProblem>> {
	const rows = await readRows(path);
	if (rows.length === 0) {
		throw new Failure(
			'invalid',
			`${basename(path)} has no row with a problem.`,
			'Name its column "prompt" or "question".',
		);
	}
	return rows.map(({ line, problem }) => ({
		label: displayText(problem.prompt, 160),
		description: problem.answer === null ? `line ${line}` : `line ${line}, answer ${displayText(problem.answer, 40)}`,
		value: problem,
	}));
}

async function chooseFile(): Promise<vscode.Uri | undefined> {
	const chosen = await vscode.window.showOpenDialog({
		title: 'A dataset: one JSON object a line',
		filters: { 'JSON lines': ['jsonl', 'ndjson'], 'All files': ['*'] },
	});
	return chosen?.[0];
}

/** The rows with a problem at the beginning of a file, in portions. */
async function readRows(path: string): Promise<{ line: number; problem: SearchProblem }[]> {
	const handle = await openRegular(dirname(path), basename(path));
	const rows: { line: number; problem: SearchProblem }[] = [];
	const decoder = new TextDecoder();
	try {
		const lines = new LineSplitter(1 << 20);
		const take = (line: Uint8Array, number: number) => {
			const problem = problemOfLine(decoder.decode(line));
			if (problem !== null && rows.length < mostRows) rows.push({ line: number, problem });
		};
		let number = 0;
		let at = 0;
		let rest: Uint8Array = new Uint8Array(0);
		while (rows.length < mostRows && at < mostBytes) {
			const buffer = Buffer.alloc(64 << 10);
			const { bytesRead } = await handle.read(buffer, 0, buffer.length, at);
			if (bytesRead === 0) break;
			at += bytesRead;
			const chunk = buffer.subarray(0, bytesRead);
			for (const line of lines.push(chunk)) take(line, ++number);
			const end = chunk.lastIndexOf(0x0a);
			rest = end === -1 ? Buffer.concat([rest, chunk]) : chunk.subarray(end + 1);
			await new Promise((resolve) => setImmediate(resolve));
		}
		// The last line may lack its end.
		if (rest.length > 0) take(rest, number + 1);
		return rows;
	} finally {
		await handle.close();
	}
}
