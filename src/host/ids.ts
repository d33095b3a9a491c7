/**
 * Every name that package.json and the code share: commands, settings, context keys, views. The code uses nothing but
 * these; a unit test holds them against package.json in both directions.
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
	saveCheckpoint: 'reasoningLab.saveCheckpoint',
	setHyperparameters: 'reasoningLab.setHyperparameters',
	openDashboard: 'reasoningLab.openDashboard',
	openRollouts: 'reasoningLab.openRollouts',
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
	refreshRuns: 'reasoningLab.refreshRuns',
} as const;
export type CommandId = (typeof commandIds)[keyof typeof commandIds];

/** Settings with their full keys. */
export const settingIds = {
	nodePath: 'reasoningLab.node.path',
	whenBusy: 'reasoningLab.device.whenBusy',
	showStatusBar: 'reasoningLab.statusBar.show',
	notifyRunEnd: 'reasoningLab.notifications.runEnd',
} as const;
export type SettingId = (typeof settingIds)[keyof typeof settingIds];

/** Context keys that the extension sets for `when` clauses. */
export const contextKeys = {
	/** At least one run is known. */
	hasRuns: 'reasoningLab.hasRuns',
	/** At least one engine is alive. */
	hasLiveRuns: 'reasoningLab.hasLiveRuns',
	hasRunningRuns: 'reasoningLab.hasRunningRuns',
	hasPausedRuns: 'reasoningLab.hasPausedRuns',
	/** At least one run was stopped or crashed, so that it can go on. */
	hasResumableRuns: 'reasoningLab.hasResumableRuns',
	/** At least one run has no live engine. */
	hasEndedRuns: 'reasoningLab.hasEndedRuns',
} as const;
export type ContextKey = (typeof contextKeys)[keyof typeof contextKeys];

export const containerId = 'reasoningLab';

export const viewIds = {
	runs: 'reasoningLab.runs',
} as const;

/** Types of webview panels; their serialisers bring them back after a reload. */
export const panelTypes = {
	dashboard: 'reasoningLab.dashboard',
	rollouts: 'reasoningLab.rollouts',
} as const;

/**
 * Words in a tree item's `contextValue`, which `viewItem =~ /\bword\b/` tests:
 * `run` always; `live` or `ended`; `running`, `paused`, `resumable` as they say.
 */
export const itemFlags = ['run', 'live', 'ended', 'running', 'paused', 'resumable'] as const;
export type ItemFlag = (typeof itemFlags)[number];

/** Language of completions that are shown as text: think and answer tags, words of reflection, numbers. */
export const traceLanguage = 'reasoning-trace';
