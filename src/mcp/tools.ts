import type { Tool } from './tool.ts';
import { readDataset } from './tools/datasetTools.ts';
import { query, searchText } from './tools/indexTools.ts';
import { metrics } from './tools/metricTools.ts';
import { checkRecipe, compareRuns } from './tools/recipeTools.ts';
import { readCompletion, readGroup, readStep } from './tools/rolloutTools.ts';
import { describeRun, diagnose, listRuns } from './tools/runTools.ts';

/** All tools, in the order clients list them. All are read-only. */
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
	checkRecipe,
	readDataset,
];
