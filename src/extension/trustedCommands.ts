import { type CommandId, commandIds as id } from './ids.ts';

/**
 * Commands that run programs, or code, servers and keys that files of the workspace can name. They are refused where the
 * workspace is not trusted, before they read an argument; what they share is guarded besides, where the process is
 * started. All others read, write what a person asks for, or stop what runs.
 */
export const trustedCommands: ReadonlySet<CommandId> = new Set([
	...[id.startDemoRun, id.startRun, id.resumeRun, id.resumeFromCheckpoint],
	...[id.resumePipeline, id.startPipelineAgain],
	...[id.exportReport, id.evaluateCheckpoint, id.showEvaluations],
	...[id.verifyReward, id.verifyOnRollouts, id.verifySelection, id.compareReward, id.auditReward],
	...[id.debugRow, id.exportReward, id.checkSandbox],
	...[id.newSearch, id.searchAgain, id.searchRow, id.searchFromCheckpoint, id.runMoreOfSearch, id.research],
	...[id.tryInPlayground, id.testPolicy, id.searchWithPolicy],
	...[id.setUpPytorch, id.choosePytorchPython, id.doctor, id.estimateMemory, id.openSetupLog, id.removePytorch],
	...[id.startRayCluster, id.stopRayCluster],
]);
