import { dirname } from 'node:path';
import * as vscode from 'vscode';
import { addComparisonCommands } from './extension/commands/comparisonCommands.ts';
import { addControlCommands } from './extension/commands/controlCommands.ts';
import { addDatasetCommands } from './extension/commands/datasetCommands.ts';
import { addDescribeCommands } from './extension/commands/describeCommands.ts';
import { addDiskCommands } from './extension/commands/diskCommands.ts';
import { addExportCommands } from './extension/commands/exportCommands.ts';
import { addIndexCommands } from './extension/commands/indexCommands.ts';
import { addOpenCommands, openLog } from './extension/commands/openCommands.ts';
import { addQueryCommands } from './extension/commands/queryCommands.ts';
import { addReportCommands } from './extension/commands/reportCommands.ts';
import { addStartCommands } from './extension/commands/startCommands.ts';
import { addTranscriptCommands } from './extension/commands/transcriptCommands.ts';
import { CommandTable } from './extension/commandTable.ts';
import { DiagnosisWatch } from './extension/diagnosis/diagnosisWatch.ts';
import { EndNotification } from './extension/endNotification.ts';
import { EvaluationStore } from './extension/evaluation/evaluationStore.ts';
import { type CommandId, commandIds, panelTypes } from './extension/ids.ts';
import { LazyPanels } from './extension/lazyPanels.ts';
import { Notices } from './extension/notices.ts';
import { openAtStart } from './extension/openAtStart.ts';
import { DatasetEditors } from './extension/panels/dataset/datasetEditors.ts';
import { addPlaygroundCommands } from './extension/panels/playground/playgroundCommands.ts';
import type { PlaygroundPlace } from './extension/panels/playground/playgroundPanel.ts';
import type { QueryPlace } from './extension/panels/query/querySession.ts';
import type { TreePlace } from './extension/panels/tree/treePanel.ts';
import { PauseNotification } from './extension/pauseNotification.ts';
import { addPipelineCommands } from './extension/pipelines/pipelineCommands.ts';
import { PipelineNotification } from './extension/pipelines/pipelineNotification.ts';
import { PipelineStore } from './extension/pipelines/pipelineStore.ts';
import { RecipeLenses } from './extension/pipelines/recipeLenses.ts';
import { addPolicyCommands, LazyPolicies } from './extension/policies/lazyPolicies.ts';
import { PoliciesTree } from './extension/policies/policiesTree.ts';
import { addPytorchCommands, LazyPytorch } from './extension/pytorch/lazyPytorch.ts';
import { ReadOnlyDocuments } from './extension/readOnlyDocuments.ts';
import { RecipeDiagnostics } from './extension/recipeDiagnostics.ts';
import { ApiKeys } from './extension/rewards/apiKeys.ts';
import { addRewardCommands, LazyRewards } from './extension/rewards/lazyRewards.ts';
import { PythonInterpreter } from './extension/rewards/pythonInterpreter.ts';
import { RewardEnvironment } from './extension/rewards/rewardEnvironment.ts';
import { RewardFileList } from './extension/rewards/rewardFileList.ts';
import { RewardsTree } from './extension/rewards/rewardsTree.ts';
import { addSandboxCommands } from './extension/rewards/sandboxCommands.ts';
import { RewardTests } from './extension/rewardTests/rewardTests.ts';
import { WindowRolloutIndex } from './extension/rolloutIndex/windowRolloutIndex.ts';
import { RunContext } from './extension/runContext.ts';
import { RunController } from './extension/runController.ts';
import { RunPicker } from './extension/runPicker.ts';
import { RegisteredRuns, WorkspaceRuns } from './extension/runSources.ts';
import { RunStarter } from './extension/runStarter.ts';
import { RunStore } from './extension/runStore.ts';
import { RunsTree } from './extension/runsTree.ts';
import type { RunView } from './extension/runView.ts';
import { addSearchCommands, LazySearches } from './extension/search/lazySearches.ts';
import { RowLens } from './extension/search/rowLens.ts';
import { SearchesTree } from './extension/search/searchesTree.ts';
import { StatusBar } from './extension/statusBar.ts';
import { TraceFeatures } from './extension/traces/traceFeatures.ts';
import { TranscriptContext } from './extension/transcriptContext.ts';
import type { TranscriptPlace } from './protocol/transcriptMessages.ts';
import type { ResultPart, ResultPlace } from './protocol/verificationMessages.ts';
import { isPipelineFolder, RunRegistry } from './runs/runRegistry.ts';

/** What `activate` hands to whoever asks for the extension's exports: the tests. */
export interface ExtensionApi {
	readonly runStore: RunStore;
	readonly runsTree: RunsTree;
	readonly notices: Notices;
	readonly rewards: LazyRewards;
	readonly rewardsTree: RewardsTree;
	readonly searches: LazySearches;
	readonly policies: LazyPolicies;
	readonly pytorch: LazyPytorch;
	readonly datasets: DatasetEditors;
	/** null: right after activation. */
	readonly rewardTests: RewardTests | null;
}

/** Composition root: builds the objects and hands them to each other. */
export function activate(context: vscode.ExtensionContext): ExtensionApi {
	const keep = <T extends vscode.Disposable>(item: T): T => {
		context.subscriptions.push(item);
		return item;
	};
	const extension = context.extensionUri;
	const storage = context.globalStorageUri;
	const log = keep(vscode.window.createOutputChannel('Reasoning Lab', { log: true }));
	const notices = keep(new Notices(log));
	const table = keep(new CommandTable(notices));

	const registry = new RunRegistry();
	const workspaceRuns = keep(new WorkspaceRuns());
	const store = keep(new RunStore([new RegisteredRuns(registry), workspaceRuns], (error) => log.error(String(error))));
	const pipelines = keep(new PipelineStore(store, (error) => log.error(String(error))));
	const evaluations = keep(new EvaluationStore(store, (error) => log.error(String(error))));
	const tree = keep(new RunsTree(store, pipelines, evaluations));
	const picker = new RunPicker(store, tree);
	const { version } = context.extension.packageJSON as { version: string };
	const client = `Reasoning Lab ${version}`;
	const controller = new RunController(store, notices, client);
	const diagnostics = keep(new RecipeDiagnostics());
	const documents = keep(new ReadOnlyDocuments());
	keep(new TraceFeatures());
	const rolloutIndex = keep(
		new WindowRolloutIndex({ extension, storage: context.storageUri, store, log: (message) => log.info(message) }),
	);
	const panels = { extensionUri: extension, log, documents };
	const dashboards = keep(
		new LazyPanels(panelTypes.dashboard, async () => {
			const { DashboardPanels } = await import('./extension/panels/dashboard/dashboardPanel.ts');
			return new DashboardPanels({ ...panels, diagnosis });
		}),
	);
	const rollouts = keep(
		new LazyPanels(panelTypes.rollouts, async () => {
			const [{ RolloutsPanels }, { launchSettings, requireTrust }] = await Promise.all([
				import('./extension/panels/rollouts/rolloutsPanel.ts'),
				import('./extension/launchSettings.ts'),
			]);
			const programs = async () => {
				requireTrust();
				return { ...(await launchSettings(extension)), environment: await pytorch.ifThere() };
			};
			return new RolloutsPanels({ ...panels, programs, client, notices, rolloutIndex });
		}),
	);
	const comparisons = keep(
		new LazyPanels<never, readonly string[]>(panelTypes.comparison, async () => {
			const { RunComparisonPanels } = await import('./extension/panels/comparison/runComparisonPanel.ts');
			return new RunComparisonPanels(panels);
		}),
	);
	const queries = keep(
		new LazyPanels<never, QueryPlace>(panelTypes.query, async () => {
			const { QueryPanels } = await import('./extension/panels/query/queryPanel.ts');
			return new QueryPanels({ ...panels, rolloutIndex, store, memory: context.workspaceState });
		}),
	);
	const transcripts = keep(
		new LazyPanels<never, TranscriptPlace>(panelTypes.transcript, async () => {
			const { TranscriptPanels } = await import('./extension/panels/transcript/transcriptPanel.ts');
			return new TranscriptPanels(panels);
		}),
	);
	const datasets = keep(
		new DatasetEditors(async (panel, uri) => {
			const { DatasetPanel } = await import('./extension/panels/dataset/datasetPanel.ts');
			const environment = () => pytorch.ifThere();
			const needs = { extension, storage, store, policies: () => policies.get(), environment };
			return new DatasetPanel(panel, panels, uri, needs);
		}),
	);
	const transcriptContext = keep(new TranscriptContext());
	const python = keep(new PythonInterpreter());
	const keys = new ApiKeys(context.secrets, context.globalState);
	const environment = new RewardEnvironment(python, keys);
	const rewardFiles = keep(new RewardFileList());
	const rewardsTree = keep(new RewardsTree(rewardFiles));
	const rewards = keep(
		new LazyRewards(rewardFiles, async () => {
			const { RewardWorkbench } = await import('./extension/rewards/rewardWorkbench.ts');
			return new RewardWorkbench({
				extension,
				store,
				notices,
				documents,
				files: rewardFiles,
				tree: rewardsTree,
				python,
				keys,
				environment,
				results: { show: (place, part) => results.open(place, part) },
			});
		}),
	);
	let rewardTests: RewardTests | null = null;
	const searchesTree: SearchesTree = keep(new SearchesTree(async () => (await searches.get()).list));
	const searches: LazySearches = keep(
		new LazySearches(async () => {
			const { SearchWorkbench } = await import('./extension/search/searchWorkbench.ts');
			return new SearchWorkbench({
				extension,
				storage,
				client,
				log: (message) => log.info(message),
				keys: async () => (await policies.get()).keys(),
				policies: () => policies.get(),
				environment: async () => ({ ...(await environment.of()), ...(await pytorch.ifThere()) }),
				store,
				notices,
				files: rewardFiles,
				tree: searchesTree,
				memory: context.workspaceState,
				openTree: (place) => trees.open(place),
				openComparison: (folder) => strategies.open(folder),
			});
		}),
	);
	const policiesTree: PoliciesTree = keep(new PoliciesTree(async () => (await policies.get()).list));
	const policies: LazyPolicies = keep(
		new LazyPolicies(async () => {
			const { PolicyWorkbench } = await import('./extension/policies/policyWorkbench.ts');
			return new PolicyWorkbench({
				secrets: context.secrets,
				memory: context.globalState,
				store,
				notices,
				tree: policiesTree,
				searches: async () => (await searches.get()).searches,
			});
		}),
	);
	const playgrounds = keep(
		new LazyPanels<never, PlaygroundPlace>(panelTypes.playground, async () => {
			const { PlaygroundPanels } = await import('./extension/panels/playground/playgroundPanel.ts');
			return new PlaygroundPanels({
				...{ ...panels, extension, client, store, notices, environment, files: rewardFiles },
				policies: () => policies.get(),
				torch: () => pytorch.ifThere(),
			});
		}),
	);
	const trees: LazyPanels<never, TreePlace> = keep(
		new LazyPanels<never, TreePlace>(panelTypes.tree, async () => {
			const [{ TreePanels }, { actions }] = await Promise.all([
				import('./extension/panels/tree/treePanel.ts'),
				searches.get(),
			]);
			return new TreePanels(panels, actions);
		}),
	);
	const strategies: LazyPanels<never> = keep(
		new LazyPanels<never>(panelTypes.strategies, async () => {
			const [{ StrategiesPanels }, { comparisons }] = await Promise.all([
				import('./extension/panels/strategies/strategiesPanel.ts'),
				searches.get(),
			]);
			return new StrategiesPanels(panels, comparisons.actions);
		}),
	);
	const results: LazyPanels<ResultPart, ResultPlace> = keep(
		new LazyPanels<ResultPart, ResultPlace>(panelTypes.verification, async () => {
			const { VerificationPanels } = await import('./extension/panels/verification/verificationPanel.ts');
			return new VerificationPanels(panels, () => rewards.get());
		}),
	);
	const pytorch = keep(
		new LazyPytorch(async () => {
			const { PytorchWorkbench } = await import('./extension/pytorch/pytorchWorkbench.ts');
			return new PytorchWorkbench({ extension, version, notices, documents, interpreter: python });
		}),
	);
	const openDashboard = (folder: string) => dashboards.open(folder);
	const starter: RunStarter = new RunStarter({
		extension,
		store,
		tree,
		notices,
		diagnostics,
		environment: (recipe) => environment.of(recipe),
		torch: (engine, retry, from) => pytorch.forRun(engine, retry, from),
		mayStart: (recipe, engine) => pytorch.mayStart(recipe, engine),
		expectPipeline: async ({ folder, record }) => {
			await pipelines.expect(folder);
			pipelineEnds.expect(folder, record);
		},
		pipelineEngine: async (folder) => {
			const { readPipelineRecipe } = await import('./runs/pipeline/pipelineFolder.ts');
			return (await readPipelineRecipe(folder)).engine;
		},
		openDashboard,
		openLog,
		holdEnd: (folder) => ends.hold(folder),
	});

	keep(new StatusBar(store));
	keep(new RunContext(store));
	const resume = (view: RunView) => starter.resume(view);
	const ends: EndNotification = keep(
		new EndNotification({
			...{ store, notices, memory: context.workspaceState, storage, openDashboard, openLog, resume },
			isStage: (folder) => isPipelineFolder(dirname(folder)),
		}),
	);
	const call = (command: CommandId) => (folder: string) => vscode.commands.executeCommand(command, folder);
	const pipelineEnds: PipelineNotification = keep(
		new PipelineNotification({
			...{ pipelines, notices, memory: context.workspaceState, storage },
			openStage: call(commandIds.openPipeline),
			openLog: call(commandIds.openPipelineLog),
			exportReport: call(commandIds.exportReport),
			resume: call(commandIds.resumePipeline),
		}),
	);
	keep(
		new PauseNotification({
			store,
			notices,
			storage,
			openDashboard,
			openLog,
			continue: (view) => controller.continue(view),
		}),
	);
	const diagnosis: DiagnosisWatch = keep(
		new DiagnosisWatch({
			store,
			notices,
			storage,
			log,
			openDashboard,
			openRollouts: (folder, place) => rollouts.open(folder, place),
		}),
	);
	addStartCommands(table, {
		picker,
		starter,
		notices,
		estimate: async (recipe) => (await pytorch.get()).memory.show(recipe),
		rewards: rewardFiles,
		templates: vscode.Uri.joinPath(extension, 'media', 'templates'),
		storage,
	});
	addPipelineCommands(table, { pipelines, store, registry, starter, notices, documents, openDashboard });
	addControlCommands(table, { picker, controller, notices });
	addOpenCommands(table, { picker, store, registry, workspaceRuns, dashboards, rollouts });
	addTranscriptCommands(table, transcripts);
	addDatasetCommands(table, { storage, python: async () => (await pytorch.get()).python.find() });
	addQueryCommands(table, queries);
	addComparisonCommands(table, { picker, store, comparisons });
	addDescribeCommands(table, { picker, store });
	addDiskCommands(table, { picker, store, registry, notices });
	addIndexCommands(table, rolloutIndex);
	addExportCommands(table, { picker, notices });
	addReportCommands(table, {
		...{ picker, pipelines, extension, notices, documents },
		environment: () => pytorch.ifThere(),
		evaluated: () => evaluations.refresh(),
	});
	addRewardCommands(table, rewards);
	addSearchCommands(table, searches);
	addPolicyCommands(table, policies);
	addPlaygroundCommands(table, { playgrounds, picker, policies });
	addPytorchCommands(table, pytorch);
	addSandboxCommands(table, { extension, documents, notices });

	// The first look at disks comes after activation.
	setImmediate(() => {
		diagnostics.start();
		// A test controller takes longer than all else here.
		rewardTests = keep(new RewardTests({ files: rewardFiles, workbench: () => rewards.get() }));
		store.start();
		rewards.start();
		transcriptContext.start();
		keep(new RowLens());
		keep(new RecipeLenses(pipelines));
		openAtStart(context.workspaceState, async (folder) => {
			await tree.reveal(await store.expect(folder));
			openDashboard(folder);
		});
	});
	return {
		runStore: store,
		runsTree: tree,
		notices,
		rewards,
		rewardsTree,
		searches,
		policies,
		pytorch,
		datasets,
		get rewardTests() {
			return rewardTests;
		},
	};
}
