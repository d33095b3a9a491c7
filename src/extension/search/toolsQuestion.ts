import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { ToolSpec } from '../../protocol/searchSpec.ts';
import { showQuickPick } from '../quickInput.ts';
import { displayText } from '../runView.ts';

interface Offer extends vscode.QuickPickItem {
	readonly use: ToolSpec['use'];
	readonly specs: () => Promise<readonly ToolSpec[] | null>;
}

/**
 * Prompts for the tools an agent can use.
 * @param last previously selected tools
 * @returns undefined if the prompt was dismissed
 */
export async function askTools(
	last: readonly ToolSpec['use'][],
	searchServer: string | null,
): Promise<ToolSpec[] | undefined> {
	const folders = (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === 'file');
	const offers: Offer[] = [
		...(folders.length === 0
			? []
			: [
					{
						use: 'workspace' as const,
						label: '$(search) Workspace',
						description: displayText(folders.map(({ name }) => name).join(', '), 80),
						detail: 'Searches and reads text files in the folder; skips hidden files',
						specs: async () => folders.map(({ uri }) => ({ use: 'workspace' as const, folder: uri.fsPath })),
					},
				]),
		{
			use: 'calculator',
			label: '$(symbol-operator) Calculator',
			detail: 'Evaluates arithmetic exactly',
			specs: async () => [{ use: 'calculator' }],
		},
		{
			use: 'dataset',
			label: '$(table) Dataset rows...',
			detail: 'Searches the rows of a JSONL file',
			specs: chooseDatasets,
		},
		{
			use: 'code',
			label: '$(terminal) Sandboxed Python',
			detail: 'Runs policy-written code; requires the sandbox',
			specs: async () => [{ use: 'code', language: 'python', timeoutSeconds: 10 }],
		},
		...(searchServer === null
			? []
			: [
					{
						use: 'web' as const,
						label: '$(globe) Web',
						description: displayText(hostOf(searchServer), 80),
						detail: 'Queries the configured search server',
						specs: async () => [{ use: 'web' as const, url: searchServer, timeoutSeconds: 20 }],
					},
				]),
	];
	const chosen = await showQuickPick(
		offers.map((offer) => ({ ...offer, picked: last.includes(offer.use) })),
		{
			title: 'Research with Reflexion: Tools',
			placeHolder: 'Select tools. Their results are sent to the policy.',
			canPickMany: true,
		},
	);
	if (chosen === undefined) return undefined;
	const tools: ToolSpec[] = [];
	for (const { specs } of chosen) {
		const some = await specs();
		if (some === null) return undefined;
		tools.push(...some);
	}
	return tools;
}

async function chooseDatasets(): Promise<readonly ToolSpec[] | null> {
	const files = await vscode.window.showOpenDialog({
		title: 'Select a dataset for the agent to search',
		openLabel: 'Use Rows',
		canSelectMany: true,
		filters: { Datasets: ['jsonl', 'ndjson'], 'All files': ['*'] },
	});
	return files === undefined ? null : files.map(({ fsPath }) => ({ use: 'dataset', file: fsPath }));
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : url);

/** Describes the given tools for a consent prompt. */
export const toolWords = (tools: readonly ToolSpec[]): string => tools.map(wordsOf).join(', ');

function wordsOf(tool: ToolSpec): string {
	switch (tool.use) {
		case 'workspace':
			return `the folder ${displayText(tool.folder, 200)}`;
		case 'dataset':
			return `the file ${displayText(basename(tool.file), 100)}`;
		case 'web':
			return `the search server ${displayText(hostOf(tool.url), 100)}`;
		case 'code':
			return 'sandboxed code execution';
		case 'calculator':
			return 'the calculator';
	}
}
