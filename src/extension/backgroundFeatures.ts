import type * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';
import { Failure } from '../base/failure.ts';
import { AgentFeatures } from './agents/agentFeatures.ts';
import type { ChatModelNeeds } from './agents/chatModels.ts';
import type { CommandTable } from './commandTable.ts';
import type { LazyEnvironments } from './environments/lazyEnvironments.ts';
import { EnvironmentTestExplorer } from './environmentTests/environmentTestExplorer.ts';
import { FoundRuns } from './foundRuns.ts';
import type { Notices } from './notices.ts';
import type { OpenViews } from './openViews.ts';
import type { PipelineStore } from './pipelines/pipelineStore.ts';
import { RecipeLenses } from './pipelines/recipeLenses.ts';
import type { LazyRewards } from './rewards/lazyRewards.ts';
import type { RewardFileList } from './rewards/rewardFileList.ts';
import { RewardTests } from './rewardTests/rewardTests.ts';
import { RowLens } from './search/rowLens.ts';
import { offerTerminalCommand } from './terminalCommand.ts';
import { TranscriptContext } from './transcriptContext.ts';
import { WalkthroughProgress } from './walkthroughProgress.ts';

interface Needs {
	readonly context: vscode.ExtensionContext;
	readonly pipelines: PipelineStore;
	readonly rewards: LazyRewards;
	readonly rewardFiles: RewardFileList;
	readonly chat: Omit<ChatModelNeeds, 'extension' | 'notices'>;
	readonly table: CommandTable;
	readonly notices: Notices;
	readonly views: OpenViews;
	readonly log: (message: string) => void;
	readonly environments: LazyEnvironments;
}

/** Features without their own command. They are loaded after activation, because nothing depends on them. */
export class BackgroundFeatures extends Disposable {
	readonly rewardTests: RewardTests;
	readonly environmentTests: EnvironmentTestExplorer;
	readonly agents: AgentFeatures;
	/** Resolves once the command line is available in terminals. */
	readonly terminalCommand: Promise<void>;

	constructor({ context, pipelines, rewards, rewardFiles, environments, chat, table, notices, views, log }: Needs) {
		super();
		this.rewardTests = this.register(new RewardTests({ files: rewardFiles, workbench: () => rewards.get() }));
		this.environmentTests = this.register(new EnvironmentTestExplorer(environments));
		this.agents = this.register(new AgentFeatures(context, chat, notices, views, log));
		this.register(new FoundRuns({ onDidComplete: table.onDidComplete, log }));
		this.register(new WalkthroughProgress({ table, store: chat.store }));
		this.register(new RecipeLenses(pipelines));
		this.register(new RowLens());
		this.register(new TranscriptContext());
		this.terminalCommand = offerTerminalCommand(context).catch((error: unknown) =>
			log(`command line in terminals: ${Failure.from(error)}`),
		);
	}
}
