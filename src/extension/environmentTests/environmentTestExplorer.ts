import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { episodesPath } from '../../core/episode/environmentLanguage.ts';
import { environmentFilePattern } from '../environments/environmentFiles.ts';
import type { LazyEnvironments } from '../environments/lazyEnvironments.ts';
import { requireTrust } from '../launchSettings.ts';
import { EnvironmentTestItems } from './environmentTestItems.ts';

/**
 * Environments in the Test Explorer. Each file is a suite; its tests are setup, the gold and idle policies, and each
 * labeled episode. Files are read only when the Test Explorer requests them.
 */
export class EnvironmentTestExplorer extends Disposable {
	readonly controller: vscode.TestController;
	readonly items: EnvironmentTestItems;
	readonly #environments: LazyEnvironments;
	#listed = false;

	constructor(environments: LazyEnvironments) {
		super();
		this.#environments = environments;
		this.controller = this.register(vscode.tests.createTestController('reasoningLab.environments', 'Environments'));
		this.items = new EnvironmentTestItems(this.controller);
		this.controller.resolveHandler = (item) => (item === undefined ? this.#list() : this.items.resolve(item));
		this.controller.refreshHandler = async () => {
			await this.#list();
			for (const [, item] of this.controller.items) await this.items.resolve(item);
		};
		this.register(
			this.controller.createRunProfile(
				'Run',
				vscode.TestRunProfileKind.Run,
				(request, token) => this.#run(request, token),
				true,
			),
		);
		const files = this.register(vscode.workspace.createFileSystemWatcher(environmentFilePattern));
		for (const event of [files.onDidCreate, files.onDidDelete]) {
			this.register(event(() => void (this.#listed && this.#list())));
		}
		const episodes = this.register(vscode.workspace.createFileSystemWatcher('**/*.episodes.jsonl'));
		for (const event of [episodes.onDidCreate, episodes.onDidChange, episodes.onDidDelete]) {
			this.register(event((uri) => this.#changed(uri)));
		}
	}

	async #list(): Promise<void> {
		this.#listed = true;
		await this.items.listFiles();
	}

	/** Rereads the labeled episodes of files that have been expanded. */
	#changed({ fsPath }: vscode.Uri): void {
		for (const [file, item] of this.controller.items) {
			if (item.children.size > 0 && episodesPath(file) === fsPath) void this.items.resolve(item);
		}
	}

	async #run(request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> {
		requireTrust();
		const run = this.controller.createTestRun(request);
		try {
			const { include, exclude = [] } = request;
			if (include === undefined) await this.#list();
			const roots = include ?? [...this.controller.items].map(([, item]) => item);
			const tests = new Map<string, vscode.TestItem>();
			for (const root of roots) {
				if (exclude.includes(root)) continue;
				for (const test of await this.items.testsOf(root)) if (!exclude.includes(test)) tests.set(test.id, test);
			}
			const { verifications } = await this.#environments.get();
			const { runEnvironmentTests } = await import('./environmentTestRun.ts');
			await runEnvironmentTests(run, [...tests.values()], { items: this.items, verifications }, token);
		} finally {
			run.end();
		}
	}
}
