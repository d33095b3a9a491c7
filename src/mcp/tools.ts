import type { Tool } from './tool.ts';
import { checkCitationsTool } from './tools/citationTools.ts';
import { continueSearchTool } from './tools/continueTool.ts';
import { pauseRunTool, resumeRunTool, startRunTool, stopRunTool } from './tools/controlTools.ts';
import { profileDataset, readDataset } from './tools/datasetTools.ts';
import { listEnvironments, runEpisodesTool, verifyEnvironmentTool } from './tools/environmentTools.ts';
import { listEvaluationsOfRun, readEvaluationSamples } from './tools/evaluationTools.ts';
import { query, searchText } from './tools/indexTools.ts';
import { listJobs, readJob, stopJob } from './tools/jobTools.ts';
import { metrics } from './tools/metricTools.ts';
import {
	listPipelines,
	readPipeline,
	resumePipelineTool,
	startPipelineTool,
	stopPipelineTool,
} from './tools/pipelineTools.ts';
import { checkRecipe, compareRuns, explainRecipeKey, readRecipe } from './tools/recipeTools.ts';
import { writeReportTool } from './tools/reportTools.ts';
import { auditRewardTool, compareRewardsTool, verifyRewardTool } from './tools/rewardTools.ts';
import { readCompletion, readGroup, readStep } from './tools/rolloutTools.ts';
import { describeRun, diagnose, listRuns } from './tools/runTools.ts';
import { listSearches, readTree, readTreeNode } from './tools/searchTools.ts';
import { showInEditor } from './tools/showTools.ts';
import { compareEvaluations } from './tools/significanceTools.ts';
import { startEvaluationTool, startSearchTool } from './tools/startTools.ts';

/** All tools, in the order clients list them: read-only ones, then those that need the user's permission to act. */
export const tools: readonly Tool[] = [
	listRuns,
	describeRun,
	diagnose,
	metrics,
	query,
	searchText,
	readStep,
	readGroup,
	readCompletion,
	compareRuns,
	listEvaluationsOfRun,
	readEvaluationSamples,
	compareEvaluations,
	listPipelines,
	readPipeline,
	listSearches,
	readTree,
	readTreeNode,
	readRecipe,
	checkRecipe,
	explainRecipeKey,
	profileDataset,
	readDataset,
	listEnvironments,
	checkCitationsTool,
	showInEditor,
	verifyRewardTool,
	auditRewardTool,
	compareRewardsTool,
	verifyEnvironmentTool,
	runEpisodesTool,
	startRunTool,
	pauseRunTool,
	resumeRunTool,
	stopRunTool,
	startPipelineTool,
	resumePipelineTool,
	stopPipelineTool,
	startSearchTool,
	continueSearchTool,
	startEvaluationTool,
	listJobs,
	readJob,
	stopJob,
	writeReportTool,
];

/**
 * Returns a server's tools.
 * @param acting whether the user allows tools that act
 * @param showing whether there is an editor to show views in
 */
export const toolsFor = (acting: boolean, showing: boolean): readonly Tool[] =>
	tools.filter(({ effect }) => effect === 'none' || (effect === 'show' ? showing : acting));
