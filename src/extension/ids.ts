/**
 * Every ID shared by package.json and the code: commands, settings, context keys, and views. The code uses only these
 * constants; a unit test compares them with package.json in both directions.
 */
export const extensionId = 'reasoning-lab.reasoning-lab';

export const commandIds = {
	startDemoRun: 'reasoningLab.startDemoRun',
	newProject: 'reasoningLab.newProject',
	startRun: 'reasoningLab.startRun',
	resumeRun: 'reasoningLab.resumeRun',
	resumeFromCheckpoint: 'reasoningLab.resumeFromCheckpoint',
	pauseRun: 'reasoningLab.pauseRun',
	continueRun: 'reasoningLab.continueRun',
	stopRun: 'reasoningLab.stopRun',
	resumePipeline: 'reasoningLab.resumePipeline',
	stopPipeline: 'reasoningLab.stopPipeline',
	openPipeline: 'reasoningLab.openPipeline',
	openPipelineGraph: 'reasoningLab.openPipelineGraph',
	startPipelineAgain: 'reasoningLab.startPipelineAgain',
	openPipelineFolder: 'reasoningLab.openPipelineFolder',
	openPipelineLog: 'reasoningLab.openPipelineLog',
	openPipelineRecipe: 'reasoningLab.openPipelineRecipe',
	trashPipeline: 'reasoningLab.trashPipeline',
	saveCheckpoint: 'reasoningLab.saveCheckpoint',
	setHyperparameters: 'reasoningLab.setHyperparameters',
	openDashboard: 'reasoningLab.openDashboard',
	openRollouts: 'reasoningLab.openRollouts',
	exportRollouts: 'reasoningLab.exportRollouts',
	exportReport: 'reasoningLab.exportReport',
	evaluateCheckpoint: 'reasoningLab.evaluateCheckpoint',
	showEvaluations: 'reasoningLab.showEvaluations',
	queryRollouts: 'reasoningLab.queryRollouts',
	openTranscript: 'reasoningLab.openTranscript',
	openDataset: 'reasoningLab.openDataset',
	compareRuns: 'reasoningLab.compareRuns',
	openRunTable: 'reasoningLab.openRunTable',
	rebuildIndex: 'reasoningLab.rebuildIndex',
	pauseIndexing: 'reasoningLab.pauseIndexing',
	openRunFolder: 'reasoningLab.openRunFolder',
	openLog: 'reasoningLab.openLog',
	renameRun: 'reasoningLab.renameRun',
	editTags: 'reasoningLab.editTags',
	editNote: 'reasoningLab.editNote',
	moveToTrash: 'reasoningLab.moveToTrash',
	showDiskUse: 'reasoningLab.showDiskUse',
	pruneCheckpoints: 'reasoningLab.pruneCheckpoints',
	pruneTokenLogs: 'reasoningLab.pruneTokenLogs',
	addRunFolder: 'reasoningLab.addRunFolder',
	openAsRun: 'reasoningLab.openAsRun',
	showOtherRuns: 'reasoningLab.showOtherRuns',
	forgetRun: 'reasoningLab.forgetRun',
	refreshRuns: 'reasoningLab.refreshRuns',
	verifyReward: 'reasoningLab.verifyReward',
	verifyOnRollouts: 'reasoningLab.verifyOnRollouts',
	verifySelection: 'reasoningLab.verifySelection',
	compareReward: 'reasoningLab.compareReward',
	auditReward: 'reasoningLab.auditReward',
	useReward: 'reasoningLab.useReward',
	debugRow: 'reasoningLab.debugRow',
	exportReward: 'reasoningLab.exportReward',
	newReward: 'reasoningLab.newReward',
	showBuiltInReward: 'reasoningLab.showBuiltInReward',
	showVerification: 'reasoningLab.showVerification',
	refreshRewards: 'reasoningLab.refreshRewards',
	showRewardLog: 'reasoningLab.showRewardLog',
	newEnvironment: 'reasoningLab.newEnvironment',
	verifyEnvironment: 'reasoningLab.verifyEnvironment',
	verifyEnvironmentWithPolicy: 'reasoningLab.verifyEnvironmentWithPolicy',
	stepEnvironment: 'reasoningLab.stepEnvironment',
	openEpisode: 'reasoningLab.openEpisode',
	setApiKey: 'reasoningLab.setApiKey',
	removeApiKey: 'reasoningLab.removeApiKey',
	checkSandbox: 'reasoningLab.checkSandbox',
	newSearch: 'reasoningLab.newSearch',
	searchAgain: 'reasoningLab.searchAgain',
	searchRow: 'reasoningLab.searchRow',
	searchFromCheckpoint: 'reasoningLab.searchFromCheckpoint',
	openSearchTree: 'reasoningLab.openSearchTree',
	compareSearches: 'reasoningLab.compareSearches',
	compareStrategies: 'reasoningLab.compareStrategies',
	runMoreOfSearch: 'reasoningLab.runMoreOfSearch',
	stopSearch: 'reasoningLab.stopSearch',
	openSearchLog: 'reasoningLab.openSearchLog',
	renameSearch: 'reasoningLab.renameSearch',
	deleteSearch: 'reasoningLab.deleteSearch',
	refreshSearches: 'reasoningLab.refreshSearches',
	openPlayground: 'reasoningLab.openPlayground',
	tryInPlayground: 'reasoningLab.tryInPlayground',
	research: 'reasoningLab.research',
	exportResearchReport: 'reasoningLab.exportResearchReport',
	addPolicy: 'reasoningLab.addPolicy',
	testPolicy: 'reasoningLab.testPolicy',
	searchWithPolicy: 'reasoningLab.searchWithPolicy',
	setPolicyKey: 'reasoningLab.setPolicyKey',
	setPolicyPrice: 'reasoningLab.setPolicyPrice',
	removePolicy: 'reasoningLab.removePolicy',
	refreshPolicies: 'reasoningLab.refreshPolicies',
	setUpPytorch: 'reasoningLab.setUpPytorch',
	setUpGpu: 'reasoningLab.setUpGpu',
	choosePytorchPython: 'reasoningLab.choosePytorchPython',
	doctor: 'reasoningLab.doctor',
	estimateMemory: 'reasoningLab.estimateMemory',
	openSetupLog: 'reasoningLab.openSetupLog',
	removePytorch: 'reasoningLab.removePytorch',
	startRayCluster: 'reasoningLab.startRayCluster',
	stopRayCluster: 'reasoningLab.stopRayCluster',
	openAddress: 'reasoningLab.openAddress',
	openReport: 'reasoningLab.openReport',
	backFromAgent: 'reasoningLab.backFromAgent',
	openWalkthrough: 'reasoningLab.openWalkthrough',
} as const;
export type CommandId = (typeof commandIds)[keyof typeof commandIds];

/** Commands for rows in views, which are not in the Command Palette; see rowCommand.ts. */
export const rowCommandIds = {
	runs: 'reasoningLab.runs.openSelected',
	searches: 'reasoningLab.searches.openSelected',
	foundRuns: 'reasoningLab.foundRuns.openSelected',
} as const;
export type RowCommandId = keyof typeof rowCommandIds;

/** Full setting keys. */
export const settingIds = {
	nodePath: 'reasoningLab.node.path',
	whenBusy: 'reasoningLab.device.whenBusy',
	parallelStages: 'reasoningLab.pipelines.parallel',
	showStatusBar: 'reasoningLab.statusBar.show',
	notifyRunEnd: 'reasoningLab.notifications.runEnd',
	diagnosis: 'reasoningLab.diagnosis.enabled',
	notifyAlerts: 'reasoningLab.notifications.alerts',
	rater: 'reasoningLab.feedback.rater',
	verifyOnSave: 'reasoningLab.rewards.verifyOnSave',
	verifyOnOpen: 'reasoningLab.rewards.verifyOnOpen',
	verifiedRows: 'reasoningLab.rewards.rows',
	rowTimeout: 'reasoningLab.rewards.rowTimeout',
	batchTimeout: 'reasoningLab.rewards.batchTimeout',
	memoryLimit: 'reasoningLab.rewards.memoryLimit',
	pythonPath: 'reasoningLab.rewards.python',
	inlineResults: 'reasoningLab.rewards.inlineResults',
	coverageMarks: 'reasoningLab.rewards.coverageMarks',
	sandboxMode: 'reasoningLab.sandbox.mode',
	searchFolder: 'reasoningLab.searches.folder',
	searchBudget: 'reasoningLab.searches.budget',
	searchRowLens: 'reasoningLab.searches.rowLens',
	searchServer: 'reasoningLab.research.searchServer',
	mcpActions: 'reasoningLab.mcp.allowActions',
	policies: 'reasoningLab.policies',
	torchPython: 'reasoningLab.pytorch.python',
	torchFolder: 'reasoningLab.pytorch.folder',
	torchDevice: 'reasoningLab.pytorch.device',
	torchInstaller: 'reasoningLab.pytorch.installer',
	indexUrl: 'reasoningLab.pytorch.indexUrl',
	pipArguments: 'reasoningLab.pytorch.pipArguments',
} as const;
export type SettingId = (typeof settingIds)[keyof typeof settingIds];

/** `when` clause context keys for the presence of runs. */
export const runContextKeys = {
	/** Whether at least one run is known. */
	hasRuns: 'reasoningLab.hasRuns',
	/** Whether at least one engine is running. */
	hasLiveRuns: 'reasoningLab.hasLiveRuns',
	hasRunningRuns: 'reasoningLab.hasRunningRuns',
	hasPausedRuns: 'reasoningLab.hasPausedRuns',
	/** Whether at least one run was stopped or crashed and can be resumed. */
	hasResumableRuns: 'reasoningLab.hasResumableRuns',
	/** Whether at least one run has no live engine. */
	hasEndedRuns: 'reasoningLab.hasEndedRuns',
	/** Whether there are runs in other folders. */
	hasOtherRuns: 'reasoningLab.hasOtherRuns',
} as const;
export type RunContextKey = (typeof runContextKeys)[keyof typeof runContextKeys];

/** `when` clause context keys for rewards. */
export const rewardContextKeys = {
	/** Whether the workspace contains a reward file or one is open. */
	hasRewards: 'reasoningLab.hasRewards',
	/** Whether at least one verification has results. */
	hasVerifications: 'reasoningLab.hasVerifications',
} as const;

/** `when` clause context keys for runs that have not been opened. */
export const foundRunsContextKeys = {
	/** Whether the workspace contains runs from other trainers. */
	hasFoundRuns: 'reasoningLab.hasFoundRuns',
} as const;

/** `when` clause context keys for chat logs. */
export const transcriptContextKeys = {
	/** Whether the active editor shows a chat log. */
	activeTranscript: 'reasoningLab.activeTranscript',
} as const;

/** ID of the walkthrough for `workbench.action.openWalkthrough`. */
export const walkthroughId = `${extensionId}#start`;

/** Context keys of completed walkthrough steps. The rewards step uses `hasVerifications`. */
export const walkthroughContextKeys = {
	/** Whether a run has trained in this workspace. */
	demo: 'reasoningLab.walkthrough.demo',
	/** Whether a run's rollouts have been opened. */
	rollouts: 'reasoningLab.walkthrough.rollouts',
	/** Whether a user's own recipe has been started. */
	ownData: 'reasoningLab.walkthrough.ownData',
	/** Whether a run from another trainer is listed. */
	otherTrainer: 'reasoningLab.walkthrough.otherTrainer',
	/** Whether a run has trained with PyTorch. */
	pretrained: 'reasoningLab.walkthrough.pretrained',
	/** Whether a search has been started. */
	search: 'reasoningLab.walkthrough.search',
} as const;
export type WalkthroughStep = keyof typeof walkthroughContextKeys;

/** All `when` clause context keys set by the extension. */
export const contextKeys = {
	...runContextKeys,
	...rewardContextKeys,
	...foundRunsContextKeys,
	...transcriptContextKeys,
	...walkthroughContextKeys,
} as const;

export const containerId = 'reasoningLab';

export const viewIds = {
	runs: 'reasoningLab.runs',
	rewards: 'reasoningLab.rewards',
	searches: 'reasoningLab.searches',
	policies: 'reasoningLab.policies',
	/** In the Explorer. */
	foundRuns: 'reasoningLab.foundRuns',
} as const;

/** Webview panel types; their serializers restore panels after a reload. */
export const panelTypes = {
	dashboard: 'reasoningLab.dashboard',
	rollouts: 'reasoningLab.rollouts',
	verification: 'reasoningLab.verification',
	query: 'reasoningLab.query',
	transcript: 'reasoningLab.transcript',
	comparison: 'reasoningLab.comparison',
	runTable: 'reasoningLab.runTable',
	pipelineGraph: 'reasoningLab.pipelineGraph',
	newSearch: 'reasoningLab.newSearchForm',
	report: 'reasoningLab.report',
	tree: 'reasoningLab.tree',
	strategies: 'reasoningLab.strategies',
	playground: 'reasoningLab.playground',
	episode: 'reasoningLab.episode',
} as const;

/** Custom editor view type for files that open the run they belong to. */
export const runFileType = 'reasoningLab.runFile';

/** View types of custom editors for datasets. */
export const viewTypes = {
	/** Optional editor for files that can also be opened as text. */
	dataset: 'reasoningLab.dataset',
	/** Default editor for Parquet and Arrow files. */
	parquet: 'reasoningLab.parquet',
} as const;

/**
 * Words in a tree item's `contextValue`, for use in `viewItem =~ /\bword\b/`:
 * - Runs view: `run` always; only `foreign` for runs from other trainers; otherwise `live` or `ended`, plus
 *   `running`, `paused`, and `resumable` as applicable
 * - Rewards view: `rewardFile`, `reward`, `builtInReward`
 * - Searches view: `search` always; `searching` or `endedSearch`; `resumableSearch` if the search can continue;
 *   `research` for agent searches
 * - Policies view: `policy` always; `serverPolicy` with `keyedPolicy` or `keylessPolicy`; `recentPolicy`
 */
export const itemFlags = [
	'run',
	'foreign',
	'live',
	'ended',
	'running',
	'paused',
	'resumable',
	'pipeline',
	'livePipeline',
	'endedPipeline',
	'resumablePipeline',
	'stage',
	'evaluation',
	'rewardFile',
	'reward',
	'builtInReward',
	'search',
	'searching',
	'endedSearch',
	'resumableSearch',
	'research',
	'policy',
	'serverPolicy',
	'keyedPolicy',
	'keylessPolicy',
	'recentPolicy',
] as const;
export type ItemFlag = (typeof itemFlags)[number];

/** Language ID for completions shown as text; highlights think and answer tags, reflection words, and numbers. */
export const traceLanguage = 'reasoning-trace';
