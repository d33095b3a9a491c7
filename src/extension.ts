import { dirname } from 'node:path';
import * as vscode from 'vscode';
import { addComparisonCommands } from './host/commands/comparisonCommands.ts';
import { addControlCommands } from './host/commands/controlCommands.ts';
import { addDatasetCommands } from './host/commands/datasetCommands.ts';
import { addDescribeCommands } from './host/commands/describeCommands.ts';
import { addDiskCommands } from './host/commands/diskCommands.ts';
import { addExportCommands } from './host/commands/exportCommands.ts';
import { addLabCommands } from './host/commands/labCommands.ts';
import { addOpenCommands, openLog } from './host/commands/openCommands.ts';
import { addQueryCommands } from './host/commands/queryCommands.ts';
import { addReportCommands } from './host/commands/reportCommands.ts';
import { addStartCommands } from './host/commands/startCommands.ts';
import { addTranscriptCommands } from './host/commands/transcriptCommands.ts';
import { CommandTable } from './host/commandTable.ts';
import { DatasetEditors } from './host/dataset/datasetEditors.ts';
import { DiagnosisWatch } from './host/diagnosis/diagnosisWatch.ts';
import { EndNotification } from './host/endNotification.ts';
import { EvaluationStore } from './host/evaluation/evaluationStore.ts';
import { type CommandId, commandIds, panelTypes } from './host/ids.ts';
import { WindowLab } from './host/lab/windowLab.ts';
import { LazyPanels } from './host/lazyPanels.ts';
import { Notices } from './host/notices.ts';
import { openAtStart } from './host/openAtStart.ts';
import type { QueryPlace } from './host/panels/querySession.ts';
import type { TreePlace } from './host/panels/treePanel.ts';
import { PauseNotification } from './host/pauseNotification.ts';
import { addPipelineCommands } from './host/pipelines/pipelineCommands.ts';
import { PipelineNotification } from './host/pipelines/pipelineNotification.ts';
import { PipelineStore } from './host/pipelines/pipelineStore.ts';
import { RecipeLenses } from './host/pipelines/recipeLenses.ts';
import { addPlaygroundCommands } from './host/playground/playgroundCommands.ts';
import type { PlaygroundPlace } from './host/playground/playgroundPanel.ts';
import { addPolicyCommands, LazyPolicies } from './host/policies/lazyPolicies.ts';
import { PoliciesTree } from './host/policies/policiesTree.ts';
import { addPytorchCommands, LazyPytorch } from './host/pytorch/lazyPytorch.ts';
import { ReadOnlyDocuments } from './host/readOnlyDocuments.ts';
import { RecipeDiagnostics } from './host/recipeDiagnostics.ts';
import { ApiKeys } from './host/rewards/apiKeys.ts';
import { addRewardCommands, LazyRewards } from './host/rewards/lazyRewards.ts';
import { PythonInterpreter } from './host/rewards/pythonInterpreter.ts';
import { RewardEnvironment } from './host/rewards/rewardEnvironment.ts';
import { RewardFileList } from './host/rewards/rewardFileList.ts';
import { RewardsTree } from './host/rewards/rewardsTree.ts';
import { addSandboxCommands } from './host/rewards/sandboxCommands.ts';
import { RewardTests } from './host/rewardTests/rewardTests.ts';
import { RunContext } from './host/runContext.ts';
import { RunController } from './host/runController.ts';
import { RunPicker } from './host/runPicker.ts';
import { RegisteredRuns, WorkspaceRuns } from './host/runSources.ts';
import { RunStarter } from './host/runStarter.ts';
import { RunStore } from './host/runStore.ts';
import { RunsTree } from './host/runsTree.ts';
import type { RunView } from './host/runView.ts';
import { addSearchCommands, LazySearches } from './host/search/lazySearches.ts';
import { RowLens } from './host/search/rowLens.ts';
import { SearchesTree } from './host/search/searchesTree.ts';
import { StatusBar } from './host/statusBar.ts';
import { TraceFeatures } from './host/traces/traceFeatures.ts';
import { TranscriptContext } from './host/transcriptContext.ts';
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
	const lab = keep(
		new WindowLab({ extension, storage: context.storageUri, store, log: (message) => log.info(message) }),
	);
	const panels = { extensionUri: extension, log, documents };
	const dashboards = keep(
		new LazyPanels(panelTypes.dashboard, async () => {
			const { DashboardPanels } = await import('./host/panels/dashboardPanel.ts');
			return new DashboardPanels({ ...panels, diagnosis });
		}),
	);
	const rollouts = keep(
		new LazyPanels(panelTypes.rollouts, async () => {
			const [{ RolloutsPanels }, { launchSettings, requireTrust }] = await Promise.all([
				import('./host/panels/rolloutsPanel.ts'),
				import('./host/launchSettings.ts'),
			]);
			const programs = async () => {
				requireTrust();
				return { ...(await launchSettings(extension)), environment: await pytorch.ifThere() };
			};
			return new RolloutsPanels({ ...panels, programs, client, notices, lab });
		}),
	);
	const comparisons = keep(
		new LazyPanels<never, readonly string[]>(panelTypes.comparison, async () => {
			const { RunComparisonPanels } = await import('./host/panels/runComparisonPanel.ts');
			return new RunComparisonPanels(panels);
		}),
	);
	const queries = keep(
		new LazyPanels<never, QueryPlace>(panelTypes.query, async () => {
			const { QueryPanels } = await import('./host/panels/queryPanel.ts');
			return new QueryPanels({ ...panels, lab, store, memory: context.workspaceState });
		}),
	);
	const transcripts = keep(
		new LazyPanels<never, TranscriptPlace>(panelTypes.transcript, async () => {
			const { TranscriptPanels } = await import('./host/panels/transcriptPanel.ts');
			return new TranscriptPanels(panels);
		}),
	);
	const datasets = keep(
		new DatasetEditors(async (panel, uri) => {
			const { DatasetPanel } = await import('./host/dataset/datasetPanel.ts');
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
			const { RewardWorkbench } = await import('./host/rewards/rewardWorkbench.ts');
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
			const { SearchWorkbench } = await import('./host/search/searchWorkbench.ts');
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
			const { PolicyWorkbench } = await import('./host/policies/policyWorkbench.ts');
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
			const { PlaygroundPanels } = await import('./host/playground/playgroundPanel.ts');
			return new PlaygroundPanels({
				...{ ...panels, extension, client, store, notices, environment, files: rewardFiles },
				policies: () => policies.get(),
				torch: () => pytorch.ifThere(),
			});
		}),
	);
	const trees: LazyPanels<never, TreePlace> = keep(
		new LazyPanels<never, TreePlace>(panelTypes.tree, async () => {
			const [{ TreePanels }, { actions }] = await Promise.all([import('./host/panels/treePanel.ts'), searches.get()]);
			return new TreePanels(panels, actions);
		}),
	);
	const strategies: LazyPanels<never> = keep(
		new LazyPanels<never>(panelTypes.strategies, async () => {
			const [{ StrategiesPanels }, { comparisons }] = await Promise.all([
				import('./host/panels/strategiesPanel.ts'),
				searches.get(),
			]);
			return new StrategiesPanels(panels, comparisons.actions);
		}),
	);
	const results: LazyPanels<ResultPart, ResultPlace> = keep(
		new LazyPanels<ResultPart, ResultPlace>(panelTypes.verification, async () => {
			const { VerificationPanels } = await import('./host/panels/verificationPanel.ts');
			return new VerificationPanels(panels, () => rewards.get());
		}),
	);
	const pytorch = keep(
		new LazyPytorch(async () => {
			const { PytorchWorkbench } = await import('./host/pytorch/pytorchWorkbench.ts');
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
	addLabCommands(table, lab);
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
