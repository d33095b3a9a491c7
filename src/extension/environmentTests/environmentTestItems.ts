import * as vscode from 'vscode';
import { episodesPath } from '../../core/episode/environmentLanguage.ts';
import { type EnvironmentTestId, environmentTests } from '../../core/episode/environmentTests.ts';
import { type ParsedEpisodes, parseEpisodes } from '../../core/episode/labeledEpisode.ts';
import { readHandWritten } from '../../rewards/handWrittenFile.ts';
import { environmentFilePattern, isEnvironmentUri } from '../environments/environmentFiles.ts';
import { elsewhere } from '../rewards/rewardFileList.ts';

/** Test represented by a Test Explorer item. */
export type EnvironmentTestNode =
	| { readonly kind: 'file'; readonly file: string }
	| { readonly kind: 'policy'; readonly file: string; readonly id: EnvironmentTestId }
	/** `line`: 1-based line in the labeled episodes. */
	| { readonly kind: 'episode'; readonly file: string; readonly line: number };

/** Maximum number of files listed per workspace, and of labeled episodes listed per file. */
const maxFiles = 500;
const maxEpisodes = 1000;

/** The Test Explorer items: one suite per environment file, with setup, gold, idle and its labeled episodes. */
export class EnvironmentTestItems {
	readonly #controller: vscode.TestController;
	readonly #nodes = new WeakMap<vscode.TestItem, EnvironmentTestNode>();

	constructor(controller: vscode.TestController) {
		this.#controller = controller;
	}

	node(item: vscode.TestItem): EnvironmentTestNode | undefined {
		return this.#nodes.get(item);
	}

	/** Lists the files in the workspace and removes those that no longer exist. */
	async listFiles(): Promise<void> {
		const found = await vscode.workspace.findFiles(environmentFilePattern, elsewhere, maxFiles);
		const files = found.filter(isEnvironmentUri).map(({ fsPath }) => fsPath);
		const { items } = this.#controller;
		for (const [id] of items) if (!files.includes(id)) items.delete(id);
		for (const file of files) {
			if (items.get(file) !== undefined) continue;
			const label = vscode.workspace.asRelativePath(file);
			const item = this.#item(file, label, file, 0, { kind: 'file', file });
			item.canResolveChildren = true;
			items.add(item);
		}
	}

	/** Updates the tests of a file from its labeled episodes. */
	async resolve(item: vscode.TestItem): Promise<void> {
		const node = this.#nodes.get(item);
		if (node?.kind !== 'file') return;
		const { file } = node;
		const path = episodesPath(file);
		const none: ParsedEpisodes = { episodes: [], faults: [] };
		const { episodes } = await readHandWritten(path, 'labeled episodes', 'Split it.').then(parseEpisodes, () => none);
		item.children.replace([
			...environmentTests.map(({ id, label }, i) => {
				const made = this.#item(`${file}#${id}`, label, file, 0, { kind: 'policy', file, id });
				made.sortText = `0${i}`;
				return made;
			}),
			...episodes.slice(0, maxEpisodes).map(({ label, line }) => {
				const made = this.#item(`${file}#episode#${line}`, label, path, line - 1, { kind: 'episode', file, line });
				made.sortText = `1${String(line).padStart(8, '0')}`;
				return made;
			}),
		]);
	}

	/** Returns all tests at or below an item, loading files that were never expanded. */
	async testsOf(item: vscode.TestItem): Promise<vscode.TestItem[]> {
		if (this.#nodes.get(item)?.kind !== 'file') return [item];
		if (item.children.size === 0) await this.resolve(item);
		return [...item.children].map(([, child]) => child);
	}

	#item(id: string, label: string, path: string, line: number, node: EnvironmentTestNode): vscode.TestItem {
		const item = this.#controller.createTestItem(id, label, vscode.Uri.file(path));
		item.range = new vscode.Range(line, 0, line, 0);
		this.#nodes.set(item, node);
		return item;
	}
}
