import { type CommandId, commandIds as id } from './ids.ts';

/**
 * Commands that run programs, or that use code, servers or API keys that workspace files can specify. In untrusted
 * workspaces they are rejected before their arguments are read. The code that starts the processes checks trust again.
 * All other commands only read, write what the user requests, or stop something.
 */
export const trustedCommands: ReadonlySet<CommandId> = new Set([
	...[id.startDemoRun, id.startRun, id.resumeRun, id.resumeFromCheckpoint],
	...[id.resumePipeline, id.startPipelineAgain],
	...[id.exportReport, id.evaluateCheckpoint, id.showEvaluations],
	...[id.verifyReward, id.verifyOnRollouts, id.verifySelection, id.compareReward, id.auditReward],
	...[id.verifyEnvironment, id.verifyEnvironmentWithPolicy, id.openEpisode],
	...[id.debugRow, id.exportReward, id.checkSandbox],
	...[id.newSearch, id.searchAgain, id.searchRow, id.searchFromCheckpoint, id.runMoreOfSearch, id.research],
	...[id.tryInPlayground, id.testPolicy, id.searchWithPolicy],
	...[
		id.setUpPytorch,
		id.setUpGpu,
		id.choosePytorchPython,
		id.doctor,
		id.estimateMemory,
		id.openSetupLog,
		id.removePytorch,
	],
	...[id.startRayCluster, id.stopRayCluster],
]);
