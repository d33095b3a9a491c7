import type { Tool } from './tool.ts';
import { checkCitationsTool } from './tools/citationTools.ts';
import { pauseRunTool, resumeRunTool, startRunTool, stopRunTool } from './tools/controlTools.ts';
import { profileDataset, readDataset } from './tools/datasetTools.ts';
import { listEvaluationsOfRun, readEvaluationSamples } from './tools/evaluationTools.ts';
import { query, searchText } from './tools/indexTools.ts';
import { metrics } from './tools/metricTools.ts';
import { checkRecipe, compareRuns, explainRecipeKey } from './tools/recipeTools.ts';
import { auditRewardTool, compareRewardsTool, verifyRewardTool } from './tools/rewardTools.ts';
import { readCompletion, readGroup, readStep } from './tools/rolloutTools.ts';
import { describeRun, diagnose, listRuns } from './tools/runTools.ts';
import { listSearches, readTree, readTreeNode } from './tools/searchTools.ts';

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
	listSearches,
	readTree,
	readTreeNode,
	checkRecipe,
	explainRecipeKey,
	profileDataset,
	readDataset,
	checkCitationsTool,
	verifyRewardTool,
	auditRewardTool,
	compareRewardsTool,
	startRunTool,
	pauseRunTool,
	resumeRunTool,
	stopRunTool,
];

/** Returns the tools of a server. @param acting whether the user allows tools that act */
export const toolsFor = (acting: boolean): readonly Tool[] => tools.filter(({ effect }) => acting || effect === 'none');
