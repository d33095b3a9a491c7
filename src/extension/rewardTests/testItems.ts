import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { LabeledCase } from '../../core/reward/verification/labeledCase.ts';
import { caseReward } from '../../core/reward/verification/labeledCase.ts';
import { casesPath, readCases } from '../../rewards/casesFile.ts';
import type { RewardFileList } from '../rewards/rewardFileList.ts';
import { findSignatures, type RewardSignature } from '../rewards/rewardSignatures.ts';
import { bodyLine } from './bodyLine.ts';

/** The node that a Test Explorer item represents. */
export type TestNode =
	| { readonly kind: 'file'; readonly file: string }
	| { readonly kind: 'reward'; readonly file: string; readonly reward: string }
	| { readonly kind: 'case'; readonly file: string; readonly reward: string; readonly line: number }
	| { readonly kind: 'audit'; readonly file: string; readonly reward: string }
	/**
	 * `line`: 0-based first line of the reward's body, where findings are shown. The signature already has inline
	 * results.
	 */
	| {
			readonly kind: 'probe';
			readonly file: string;
			readonly reward: string;
			readonly probe: string;
			readonly line: number;
	  };

export interface ProbeWords {
	readonly id: string;
	readonly title: string;
}

/** Maximum number of labeled cases listed per file; verification in the editor covers all of them. */
const maxCases = 1000;

/** The Test Explorer items: one suite per reward file, containing rewards with their labeled cases and audit probes. */
export class TestItems {
	readonly #controller: vscode.TestController;
	readonly #files: RewardFileList;
	readonly #probes: () => Promise<readonly ProbeWords[]>;
	readonly #nodes = new WeakMap<vscode.TestItem, TestNode>();

	constructor(
		controller: vscode.TestController,
		files: RewardFileList,
		/** Returns the audit probes; loaded when they are shown. */
		probes: () => Promise<readonly ProbeWords[]>,
	) {
		this.#controller = controller;
		this.#files = files;
		this.#probes = probes;
	}

	node(item: vscode.TestItem): TestNode | undefined {
		return this.#nodes.get(item);
	}

	/** Lists the files in the workspace and removes those that no longer exist. */
	async listFiles(): Promise<void> {
		const files = await this.#files.files();
		const items = this.#controller.items;
		for (const [id] of items) if (!files.includes(id)) items.delete(id);
		for (const file of files) if (items.get(file) === undefined) items.add(this.#file(file));
	}

	/** Updates a file's tests from its current text and cases. */
	async resolve(item: vscode.TestItem): Promise<void> {
		const node = this.#nodes.get(item);
		if (node?.kind !== 'file') return;
		const { file } = node;
		item.busy = true;
		try {
			const text = (await vscode.workspace.openTextDocument(vscode.Uri.file(file))).getText();
			const signatures = findSignatures(text, file);
			const names = signatures.map(({ name }) => name);
			const path = casesPath(file);
			const read = await readCases(path).catch(() => null);
			const main = caseReward(basename(file), names);
			const probes = await this.#probes();
			item.error = signatures.length === 0 ? 'This file does not declare a reward.' : undefined;
			item.children.replace(
				signatures.map((signature) => {
					const cases = (read?.cases ?? []).filter((one) => (one.reward ?? main) === signature.name);
					const body = bodyLine(text, signature, file.endsWith('.py') ? 'python' : 'script');
					return this.#reward({ file, signature, body, path, cases, probes });
				}),
			);
		} catch (error) {
			item.error = error instanceof Error ? error.message : String(error);
			item.children.replace([]);
		} finally {
			item.busy = false;
		}
	}

	/** Returns all tests at or below an item, loading files that have not been expanded yet. */
	async testsOf(item: vscode.TestItem): Promise<vscode.TestItem[]> {
		const node = this.#nodes.get(item);
		if (node?.kind === 'file' && item.children.size === 0) await this.resolve(item);
		if (node?.kind === 'case' || node?.kind === 'probe') return [item];
		const found: vscode.TestItem[] = [];
		for (const [, child] of item.children) found.push(...(await this.testsOf(child)));
		return found;
	}

	#file(file: string): vscode.TestItem {
		// Descriptions are omitted because screen readers would read them instead of the labels.
		const item = this.#controller.createTestItem(file, vscode.workspace.asRelativePath(file), vscode.Uri.file(file));
		item.canResolveChildren = true;
		this.#nodes.set(item, { kind: 'file', file });
		return item;
	}

	#reward(read: {
		readonly file: string;
		readonly signature: RewardSignature;
		readonly body: number;
		readonly path: string;
		readonly cases: readonly LabeledCase[];
		readonly probes: readonly ProbeWords[];
	}): vscode.TestItem {
		const { file, path, cases, probes } = read;
		const { name, line, endLine } = read.signature;
		const item = this.#item(`${file}#${name}`, name, file, line, { kind: 'reward', file, reward: name }, endLine);
		for (const { label, line: at } of cases.slice(0, maxCases)) {
			const id = `${file}#${name}#case#${at}`;
			item.children.add(this.#item(id, label, path, at - 1, { kind: 'case', file, reward: name, line: at }));
		}
		const words = 'Audit: reward without a correct answer';
		const audit = this.#item(`${file}#${name}#audit`, words, file, line, { kind: 'audit', file, reward: name });
		audit.sortText = '~';
		for (const { id, title } of probes) {
			const probe = this.#item(`${file}#${name}#probe#${id}`, title, file, line, {
				kind: 'probe',
				file,
				reward: name,
				probe: id,
				line: read.body,
			});
			audit.children.add(probe);
		}
		item.children.add(audit);
		return item;
	}

	#item(id: string, label: string, file: string, line: number, node: TestNode, endLine = line): vscode.TestItem {
		const item = this.#controller.createTestItem(id, label, vscode.Uri.file(file));
		item.range = new vscode.Range(line, 0, endLine, 0);
		// Sort cases by line number to preserve file order.
		item.sortText = node.kind === 'case' ? String(node.line).padStart(8, '0') : label;
		this.#nodes.set(item, node);
		return item;
	}
}
