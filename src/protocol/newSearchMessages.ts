import * as v from 'valibot';
import { policySpecSchema } from './policySpec.ts';
import { scorerSpecSchema, searchEnvironmentSchema } from './searchSpec.ts';
import { searchBudgetSchema } from './treeLog.ts';

/*
 * Messages between the *New Search* panel and its webview, in the envelope of webviewMessages.ts. The page stores the
 * user's input; the panel provides the choices and starts the search.
 */

/** Maximum length of a problem, in UTF-16 code units. */
export const longestProblem = 200_000;
const line = v.pipe(v.string(), v.maxLength(400));
const settings = v.record(v.string(), v.unknown());

export const formProblemSchema = v.object({
	prompt: v.pipe(v.string(), v.maxLength(longestProblem)),
	/** Gold answer; null if unknown. */
	answer: v.optional(v.nullable(v.pipe(v.string(), v.maxLength(longestProblem))), null),
	/** Dataset row. */
	row: v.optional(settings, {}),
});
export type FormProblem = v.InferOutput<typeof formProblemSchema>;

/** Partial search; the form supplies the missing parts. */
export const searchDraftSchema = v.object({
	policy: v.optional(policySpecSchema),
	problem: v.optional(formProblemSchema),
	strategy: v.optional(line),
	params: v.optional(settings),
	guide: v.optional(v.nullable(scorerSpecSchema)),
	judge: v.optional(v.nullable(scorerSpecSchema)),
	sampling: v.optional(settings),
	/** If omitted, derived from the policy's completions. */
	split: v.optional(v.union([line, v.object({ text: v.string() })])),
	budget: v.optional(searchBudgetSchema),
	concurrency: v.optional(v.number()),
	seed: v.optional(v.number()),
	tags: v.optional(v.unknown()),
	/** Environment for episodes; null for none. If omitted, the one that the policy was trained in. */
	environment: v.optional(v.nullable(searchEnvironmentSchema)),
	tools: v.optional(v.array(v.unknown())),
});
export type SearchDraft = v.InferOutput<typeof searchDraftSchema>;

export const offeredPolicySchema = v.object({
	group: line,
	label: line,
	detail: line,
	spec: policySpecSchema,
});
export type OfferedPolicy = v.InferOutput<typeof offeredPolicySchema>;

const offeredScorerSchema = v.object({
	label: line,
	detail: line,
	spec: scorerSpecSchema,
	/** Whether it also scores prefixes. */
	steps: v.boolean(),
	/** Whether it can see the gold answer. */
	oracle: v.boolean(),
});
export type OfferedScorer = v.InferOutput<typeof offeredScorerSchema>;

export const offeredEnvironmentSchema = v.object({
	label: line,
	description: line,
	spec: searchEnvironmentSchema,
});
export type OfferedEnvironment = v.InferOutput<typeof offeredEnvironmentSchema>;

/** Rows available for episodes. */
export const offeredRowsSchema = v.object({
	/** Where they come from, or why there are none. */
	source: line,
	rows: v.array(v.object({ label: line, problem: formProblemSchema })),
});
export type OfferedRows = v.InferOutput<typeof offeredRowsSchema>;

/** Facts about a policy that are known without opening it. */
export const policyFactsSchema = v.object({
	/** The environment that it was trained in; null if there is none. */
	environment: v.nullable(offeredEnvironmentSchema),
	/** Suggested problems: held-out problems of its run, or problems that it was trained on. */
	problems: v.array(formProblemSchema),
	source: v.nullable(v.picklist(['held-out', 'training'])),
	/** Recorded completions; null if there are none. */
	sample: v.nullable(
		v.object({
			completions: v.number(),
			step: v.number(),
			/** Mean number of tokens; null if not recorded. */
			tokens: v.nullable(v.number()),
			/** Rule that splits these completions into several steps; null if none was found. */
			split: v.nullable(v.object({ split: line, steps: v.number() })),
		}),
	),
});
export type PolicyFacts = v.InferOutput<typeof policyFactsSchema>;

export const newSearchEventSchema = v.object({
	type: v.literal('snapshot'),
	/** Why searches cannot run in this window; null if they can. */
	forbidden: v.nullable(line),
	policies: v.array(offeredPolicySchema),
	scorers: v.array(offeredScorerSchema),
	/** Environments in the workspace. */
	environments: v.array(offeredEnvironmentSchema),
	/** Budget from the settings. */
	budget: searchBudgetSchema,
	/** Initial draft; null if the page keeps its own. */
	draft: v.nullable(searchDraftSchema),
});
export type NewSearchEvent = v.InferOutput<typeof newSearchEventSchema>;

export const newSearchCommandSchema = v.variant('type', [
	v.object({ type: v.literal('ready') }),
	v.object({ type: v.literal('runDemo') }),
	v.object({ type: v.literal('fault'), message: v.pipe(v.string(), v.maxLength(20_000)) }),
]);
export type NewSearchCommand = v.InferOutput<typeof newSearchCommandSchema>;

export const newSearchRequests = {
	/** Reads what is known about a policy. */
	facts: { params: v.object({ policy: policySpecSchema }), result: policyFactsSchema },
	/** Lets the user choose another policy, such as a new server; null if canceled. */
	choosePolicy: { params: v.object({}), result: v.nullable(offeredPolicySchema) },
	/** Lets the user enter the address of an environment server; null if canceled. */
	chooseServer: { params: v.object({}), result: v.nullable(searchEnvironmentSchema) },
	/** Reads an environment's rows. */
	rows: {
		params: v.object({ environment: searchEnvironmentSchema, policy: v.optional(policySpecSchema) }),
		result: offeredRowsSchema,
	},
	/** Lets the user choose a row from a dataset file; null if canceled. */
	chooseProblem: { params: v.object({}), result: v.nullable(formProblemSchema) },
	/**
	 * Starts the search, remembers the draft, and closes the panel. `split` is the step rule to use, even if the user
	 * did not choose one.
	 */
	start: { params: v.object({ draft: searchDraftSchema, split: searchDraftSchema.entries.split }), result: v.null() },
} as const;

/** The panel does not use the page's state. */
export const newSearchStateSchema = v.looseObject({});
