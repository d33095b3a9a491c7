import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { rewardContextKeys } from '../ids.ts';
import type { Notices } from '../notices.ts';
import type { ReadOnlyDocuments } from '../readOnlyDocuments.ts';
import { RewardDebugger } from '../rewardTests/rewardDebugger.ts';
import type { RunStore } from '../runStore.ts';
import type { ApiKeys } from './apiKeys.ts';
import { AuthorCommands } from './authorCommands.ts';
import { CoverageMarks } from './coverageMarks.ts';
import { ExportCommand } from './exportCommand.ts';
import { resultsOf } from './fileVerification.ts';
import { InlineResults } from './inlineResults.ts';
import { JudgeCommands } from './judgeCommands.ts';
import { Judgments } from './judgments.ts';
import { removeApiKey, setApiKey } from './keyCommands.ts';
import type { PythonInterpreter } from './pythonInterpreter.ts';
import { RewardDiagnostics } from './rewardDiagnostics.ts';
import type { RewardEnvironment } from './rewardEnvironment.ts';
import type { RewardFileList } from './rewardFileList.ts';
import { RewardHovers } from './rewardHovers.ts';
import { RewardLenses } from './rewardLenses.ts';
import { RewardLog } from './rewardLog.ts';
import type { RewardsTree } from './rewardsTree.ts';
import { RewardTargets } from './rewardTarget.ts';
import { RewardVerifications } from './rewardVerifications.ts';
import * as rewardWords from './rewardWords.ts';
import { VerifierPool } from './verifierPool.ts';
import { type ResultsOpener, VerifyCommands } from './verifyCommands.ts';

export interface WorkbenchNeeds {
	readonly extension: vscode.Uri;
	readonly store: RunStore;
	readonly notices: Notices;
	readonly documents: ReadOnlyDocuments;
	readonly files: RewardFileList;
	readonly tree: RewardsTree;
	readonly python: PythonInterpreter;
	readonly keys: ApiKeys;
	readonly environment: RewardEnvironment;
	readonly results: ResultsOpener;
}

/** All reward features that are not needed until a reward file is open or a reward command runs. */
export class RewardWorkbench extends Disposable {
	readonly pool: VerifierPool;
	readonly verifications: RewardVerifications;
	readonly log: RewardLog;
	readonly debugging: RewardDebugger;
	readonly verify: VerifyCommands;
	readonly judge: JudgeCommands;
	readonly judgments: Judgments;
	readonly author: AuthorCommands;
	readonly export: ExportCommand;
	readonly #keys: ApiKeys;
	#hasResults = false;

	constructor(needs: WorkbenchNeeds) {
		super();
		const { extension, store, notices, documents, files, tree, python, keys, environment, results } = needs;
		this.#keys = keys;
		this.log = this.register(new RewardLog());
		this.pool = this.register(new VerifierPool(environment, vscode.Uri.joinPath(extension, 'dist').fsPath));
		this.verifications = this.register(new RewardVerifications({ pool: this.pool, python, log: this.log }));
		const view = this.verifications;
		this.register(new InlineResults(view));
		this.register(new RewardLenses(view));
		this.register(new RewardHovers(view));
		this.register(new RewardDiagnostics(view));
		this.register(new CoverageMarks(view, vscode.Uri.joinPath(extension, 'media', 'icons')));
		this.register(view.onDidChange((file) => this.#note(file)));
		tree.follow(view, rewardWords);
		const targets = new RewardTargets(files);
		const say = (sentence: string) => void notices.information(sentence);
		const programs = vscode.Uri.joinPath(extension, 'dist').fsPath;
		const debugging = this.register(new RewardDebugger({ pool: this.pool, environment, programs, say }));
		this.debugging = debugging;
		this.verify = new VerifyCommands({ targets, verifications: view, store, notices, results, debugging });
		const judgments = this.register(new Judgments());
		this.judgments = judgments;
		this.judge = new JudgeCommands({ targets, files, verifications: view, store, results, judgments });
		const dist = vscode.Uri.joinPath(extension, 'dist').fsPath;
		this.export = this.register(new ExportCommand({ targets, python, notices, dist }));
		this.author = new AuthorCommands({ extension, files, targets, verifications: view, notices, documents });
		view.start();
	}

	async setApiKey(address: unknown): Promise<void> {
		if (await setApiKey(this.#keys, address)) this.verifications.restart();
	}

	async removeApiKey(origin: unknown): Promise<void> {
		if (await removeApiKey(this.#keys, origin)) this.verifications.restart();
	}

	#note(file: string): void {
		if (this.#hasResults) return;
		const results = this.verifications.get(file)?.results ?? new Map();
		if (![...results.values()].some((one) => resultsOf(one).length > 0)) return;
		this.#hasResults = true;
		void vscode.commands.executeCommand('setContext', rewardContextKeys.hasVerifications, true);
	}
}
