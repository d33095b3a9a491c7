import { basename, dirname, isAbsolute, join } from 'node:path';
import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import { writeFileAtomic } from '../../files/atomicFile.ts';
import type { ToolSpec } from '../../protocol/searchSpec.ts';
import { searchLogEnding } from '../../runs/searchLog.ts';
import type { Notices } from '../notices.ts';
import { showInputBox, showQuickPick } from '../quickInput.ts';
import { displayText } from '../runView.ts';
import type { AgreedSearches } from './agreedSearches.ts';
import type { SearchCommands } from './searchCommands.ts';
import { searchSettings } from './searchSettings.ts';
import type { SearchStore } from './searchStore.ts';
import { askTools } from './toolsQuestion.ts';
import type { WindowSearches } from './windowSearches.ts';

interface Needs {
	readonly searches: WindowSearches;
	readonly list: SearchStore;
	readonly notices: Notices;
	readonly memory: vscode.Memento;
	readonly commands: SearchCommands;
	readonly agreed: AgreedSearches;
}

const toolsKey = 'research.tools';
const agent = 'reflexion';

/** Commands for agent research (search with tools). */
export class ResearchCommands extends Disposable {
	readonly #needs: Needs;
	/** Logs of searches to notify the user about when they finish. */
	readonly #awaited = new Set<string>();

	constructor(needs: Needs) {
		super();
		this.#needs = needs;
		this.register(
			needs.searches.onChanged(({ log, state, failure }) => {
				if (state === 'ended' && this.#awaited.delete(log) && failure === null) void this.#tell(log);
			}),
		);
	}

	/**
	 * *Research with Reflexion*: prompts for the question, the tools, and the remaining search options. When called by
	 * code, accepts `{question?, tools?}` plus everything *New Search* accepts. Resolves to the log path.
	 */
	async research(argument?: unknown): Promise<string | undefined> {
		const { searches, memory, commands, agreed } = this.#needs;
		const reason = searches.forbidden();
		if (reason !== null) throw new Failure('denied', reason, 'Trust the workspace, then try again.');
		const isPreset = typeof argument === 'object' && argument !== null && !(argument instanceof vscode.Uri);
		const { question, tools, ...preset } = (isPreset ? argument : {}) as Record<string, unknown>;
		const asked = typeof question === 'string' ? question : await askQuestion();
		if (asked === undefined) return undefined;
		const last = memory.get<ToolSpec['use'][]>(toolsKey) ?? ['workspace', 'calculator'];
		const chosen = Array.isArray(tools) ? (tools as ToolSpec[]) : await askTools(last, searchSettings.searchServer());
		if (chosen === undefined) return undefined;
		if (!Array.isArray(tools)) await memory.update(toolsKey, [...new Set(chosen.map(({ use }) => use))]);
		const problem = { prompt: asked, answer: null, row: {} };
		const log = await commands.newSearch({ guide: null, ...preset, strategy: agent, problem, tools: chosen });
		if (log === undefined) return undefined;
		await agreed.add(log);
		// A short search may already have finished.
		if (await searches.isRunning(log)) this.#awaited.add(log);
		else void this.#tell(log);
		return log;
	}

	/**
	 * *Export Research Report*: writes the report for a log to a file that the user chooses, then opens the file as text.
	 */
	async exportReport(argument?: unknown, target?: unknown): Promise<string | undefined> {
		const log = await this.#logOf(argument);
		if (log === undefined) return undefined;
		const { markdown } = await this.#needs.searches.request('report', { log });
		const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? dirname(log);
		const chosen =
			typeof target === 'string'
				? vscode.Uri.file(target)
				: await vscode.window.showSaveDialog({
						title: 'Export research report',
						saveLabel: 'Export',
						defaultUri: vscode.Uri.file(join(folder, `${basename(log, searchLogEnding)}.md`)),
						filters: { Markdown: ['md'] },
					});
		if (chosen === undefined) return undefined;
		if (chosen.scheme !== 'file' || !isAbsolute(chosen.fsPath)) {
			throw new Failure('unsupported', 'Reports can only be saved to files on this machine.', 'Choose another folder.');
		}
		await writeFileAtomic(chosen.fsPath, markdown);
		// Open the source: model-written Markdown is not rendered without consent.
		const document = await vscode.workspace.openTextDocument(chosen);
		await vscode.window.showTextDocument(document, { preview: false });
		return chosen.fsPath;
	}

	async #tell(log: string): Promise<void> {
		const { searches, notices } = this.#needs;
		try {
			const { reason, answered } = await searches.request('report', { log });
			const words = answered ? `Research finished. ${reason}` : `Research ended without an answer. ${reason}`;
			await notices.information(displayText(words, 400), [
				{ title: 'Export Report...', run: () => this.exportReport(log) },
			]);
		} catch (error) {
			notices.failure(error);
		}
	}

	async #logOf(argument: unknown): Promise<string | undefined> {
		if (argument instanceof vscode.Uri) return argument.fsPath;
		if (typeof argument === 'string' && argument !== '') return argument;
		const { list } = this.#needs;
		await list.refresh();
		const views = list.searches.filter(({ start }) => start.strategy === agent);
		if (views.length === 0) {
			throw new Failure('missing', 'No research reports found.', 'Run Research with Reflexion first.');
		}
		const picked = await showQuickPick(
			views.map((view) => ({
				label: displayText(view.start.problem.prompt, 100),
				description: view.running ? 'running' : new Date(view.changed).toLocaleString(),
				log: view.log,
			})),
			{ title: 'Export research report' },
		);
		return picked?.log;
	}
}

async function askQuestion(): Promise<string | undefined> {
	const editor = vscode.window.activeTextEditor;
	const selected = editor === undefined ? '' : editor.document.getText(editor.selection).trim();
	const text = await showInputBox({
		title: 'Research with Reflexion: Question',
		prompt: 'Answers are about 250 words long and cite sources found by the tools',
		value: selected.slice(0, 2000),
		validateInput: (typed) => (typed.trim() === '' ? 'Enter a question.' : null),
	});
	return text?.trim();
}
