import { basename } from 'node:path';
import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { casesPath } from '../../rewards/casesFile.ts';
import { requireTrust } from '../launchSettings.ts';
import type { RewardFileList } from '../rewards/rewardFileList.ts';
import type { RewardWorkbench } from '../rewards/rewardWorkbench.ts';
import { RewardCoverage } from './rewardCoverage.ts';
import { TestItems } from './testItems.ts';
import type { TestRunner } from './testRun.ts';

interface Needs {
	readonly files: RewardFileList;
	readonly workbench: () => Promise<RewardWorkbench>;
}

const casesPattern = '**/*.cases.jsonl';
/** Delay for batching edits to a file, in milliseconds. */
const restMs = 200;

/**
 * Rewards in the Test Explorer. Each file is a suite, and each labeled case and audit probe is a test that can be run,
 * debugged, run on save, or run with line coverage. Files are read only when the Test Explorer requests them.
 */
export class RewardTests extends Disposable {
	readonly controller: vscode.TestController;
	readonly items: TestItems;
	readonly #needs: Needs;
	readonly #continuous = new Set<{
		readonly request: vscode.TestRunRequest;
		readonly token: vscode.CancellationToken;
	}>();
	readonly #soon = new Map<string, NodeJS.Timeout>();
	#listed = false;

	constructor(needs: Needs) {
		super();
		this.#needs = needs;
		this.controller = this.register(vscode.tests.createTestController('reasoningLab.rewards', 'Rewards'));
		this.items = new TestItems(this.controller, needs.files, async () => {
			const { auditProbes } = await import('../../rewards/auditReward.ts');
			return auditProbes;
		});
		this.controller.resolveHandler = async (item) => {
			if (item !== undefined) return this.items.resolve(item);
			await this.#list();
		};
		this.controller.refreshHandler = async () => {
			await needs.files.refresh();
			await this.#list();
			for (const [, item] of this.controller.items) await this.items.resolve(item);
		};
		this.#profiles();
		this.register(needs.files.onDidChange(() => void (this.#listed && this.#list())));
		const cases = this.register(vscode.workspace.createFileSystemWatcher(casesPattern));
		for (const event of [cases.onDidCreate, cases.onDidChange, cases.onDidDelete]) {
			this.register(event((uri) => this.#changed(uri)));
		}
		this.register(vscode.workspace.onDidSaveTextDocument(({ uri }) => this.#changed(uri)));
		this.register({
			dispose: () => {
				for (const timer of this.#soon.values()) clearTimeout(timer);
			},
		});
	}

	async #list(): Promise<void> {
		this.#listed = true;
		await this.items.listFiles();
	}

	#profiles(): void {
		const { Run, Debug, Coverage } = vscode.TestRunProfileKind;
		const add = (label: string, kind: vscode.TestRunProfileKind, continuous: boolean) =>
			this.register(
				this.controller.createRunProfile(
					label,
					kind,
					(request, token) => this.#start(request, token),
					true,
					undefined,
					continuous,
				),
			);
		add('Run', Run, true);
		add('Debug', Debug, false);
		const coverage = add('Run with Coverage', Coverage, true);
		coverage.loadDetailedCoverage = async (_run, covered) =>
			covered instanceof RewardCoverage ? [...covered.details] : [];
	}

	async #start(request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> {
		requireTrust();
		if (!request.continuous) return this.#run(request, token);
		const kept = { request, token };
		this.#continuous.add(kept);
		token.onCancellationRequested(() => this.#continuous.delete(kept));
	}

	/** Runs the requested tests, optionally only those in one file. */
	async #run(request: vscode.TestRunRequest, token: vscode.CancellationToken, file?: string): Promise<void> {
		const run = this.controller.createTestRun(request);
		try {
			const tests = await this.#tests(request, file);
			const runner = await this.#runner();
			const kind = request.profile?.kind;
			if (kind === vscode.TestRunProfileKind.Debug) await runner.debug(run, tests, token);
			else await runner.run(run, tests, token, { coverage: kind === vscode.TestRunProfileKind.Coverage });
		} finally {
			run.end();
		}
	}

	async #runner(): Promise<TestRunner> {
		const workbench = await this.#needs.workbench();
		const { TestRunner } = await import('./testRun.ts');
		return new TestRunner({
			items: this.items,
			verifications: workbench.verifications,
			debugging: workbench.debugging,
		});
	}

	async #tests({ include, exclude }: vscode.TestRunRequest, file?: string): Promise<vscode.TestItem[]> {
		if (include === undefined) await this.#list();
		const roots = include ?? [...this.controller.items].map(([, item]) => item);
		const left = new Set((exclude ?? []).map(({ id }) => id));
		const isLeftOut = (item: vscode.TestItem): boolean =>
			left.has(item.id) || (item.parent !== undefined && isLeftOut(item.parent));
		const found = new Map<string, vscode.TestItem>();
		for (const root of roots) {
			// The item may have been replaced after the request was created.
			for (const test of await this.items.testsOf(this.#current(root) ?? root)) {
				const node = this.items.node(test);
				if (!isLeftOut(test) && (file === undefined || node?.file === file)) found.set(test.id, test);
			}
		}
		return [...found.values()];
	}

	#current(item: vscode.TestItem): vscode.TestItem | undefined {
		if (item.parent === undefined) return this.controller.items.get(item.id);
		return this.#current(item.parent)?.children.get(item.id);
	}

	/** Rereads the tests of a changed reward or case file and runs those enabled for continuous run. */
	#changed(uri: vscode.Uri): void {
		if (uri.scheme !== 'file') return;
		for (const [file, item] of this.controller.items) {
			if (uri.fsPath !== file && uri.fsPath !== casesPath(file)) continue;
			clearTimeout(this.#soon.get(file));
			this.#soon.set(
				file,
				setTimeout(() => {
					this.#soon.delete(file);
					void this.#refresh(file, item);
				}, restMs),
			);
		}
		if (this.#listed && this.controller.items.size === 0 && basename(uri.fsPath).includes('.reward.'))
			void this.#list();
	}

	async #refresh(file: string, item: vscode.TestItem): Promise<void> {
		if (item.children.size > 0) await this.items.resolve(item);
		for (const { request, token } of this.#continuous) {
			if (!token.isCancellationRequested) await this.#run(request, token, file);
		}
	}
}
