import * as v from 'valibot';
import { headNames } from './control.ts';
import { policySpecSchema } from './policySpec.ts';
import { searchSpecSchema } from './searchSpec.ts';
import { comparisonSpecSchema } from './strategyComparison.ts';
import { searchBudgetSchema, treeEventSchema } from './treeLog.ts';

/*
 * Messages between the search worker (src/search/main.ts, its own process, one a window) and the extension. A search is a
 * tree log; who wants to see one follows the file. The worker only starts them, ends them and lets them continue. It ends with the
 * window; a log that has no `end` can continue.
 */

const path = v.pipe(v.string(), v.minLength(1));
const id = v.pipe(v.number(), v.integer(), v.minValue(0));
const empty = v.object({});

/** Keys that the extension holds in its secret storage, by `policyKeyName`; passed with each request and kept nowhere. */
const keys = v.optional(v.record(v.string(), v.string()), {});
/** Of processes that score: which Python, which sandbox, keys of judges. */
const environment = v.optional(v.record(v.string(), v.string()), {});
const problem = v.object({
	prompt: v.string(),
	answer: v.optional(v.nullable(v.string()), null),
	row: v.optional(v.record(v.string(), v.unknown()), {}),
});

export const runningSearchSchema = v.object({
	log: path,
	strategy: v.string(),
	nodes: v.number(),
	tokens: v.number(),
	simulations: v.number(),
	seconds: v.number(),
});
export type RunningSearch = v.InferOutput<typeof runningSearchSchema>;

export const searchRequests = {
	/** Begins a search; resolves when its log has its first lines. `log` must not exist. */
	start: { params: v.object({ spec: searchSpecSchema, problem, log: path, keys, environment }), result: empty },
	/** Lets the search of a log continue in the same file. */
	continue: {
		params: v.object({
			log: path,
			/** Instead of the log's own specification, where another program wrote it or one wants another policy. */
			spec: v.optional(searchSpecSchema),
			budget: searchBudgetSchema,
			action: v.variant('kind', [
				v.object({ kind: v.literal('more') }),
				/** The strategy continues below this node alone. */
				v.object({ kind: v.literal('branch'), node: id }),
				/** A sibling of the node with a person's text, and on from there. */
				v.object({ kind: v.literal('edit'), node: id, text: v.string() }),
				/** A sibling that begins like the node up to a token, continues with another one, and then with the policy. */
				v.object({ kind: v.literal('force'), node: id, token: id, text: v.string() }),
			]),
			keys,
			environment,
		}),
		result: empty,
	},
	/** Adds `prune` or `restore` to a log. */
	prune: { params: v.object({ log: path, node: id, restore: v.boolean() }), result: empty },
	/** Ends a search; resolves when its log has its end. */
	stop: { params: v.object({ log: path }), result: empty },
	/**
	 * Compares strategies in a folder, which is made or gone on with; resolves when its first summary is there. Who wants to see
	 * how far it is follows the folder's summary.
	 */
	compare: { params: v.object({ spec: comparisonSpecSchema, folder: path, keys, environment }), result: empty },
	/** Ends a comparison; resolves when its summary says so. */
	stopComparing: { params: v.object({ folder: path }), result: empty },
	running: { params: empty, result: v.object({ searches: v.array(runningSearchSchema) }) },
	/** The trees in a file of another program; reading needs no trust. */
	trees: {
		params: v.object({ path }),
		result: v.object({
			format: v.string(),
			trees: v.array(v.object({ name: v.string(), events: v.number() })),
			/** What could not be read, in words. */
			faults: v.array(v.string()),
		}),
	},
	treeEvents: {
		params: v.object({ path, tree: id, from: id, limit: v.pipe(v.number(), v.integer(), v.minValue(1)) }),
		result: v.object({ events: v.array(treeEventSchema), total: v.number() }),
	},
	treeText: { params: v.object({ path, tree: id, node: id }), result: v.object({ text: v.string() }) },
	/** The report of a research by an agent, out of its log; reading needs no trust. */
	report: {
		params: v.object({ log: path }),
		result: v.object({ markdown: v.string(), reason: v.string(), answered: v.boolean() }),
	},
	/** The models that a server lists; of the policy all but its model matters. */
	models: { params: v.object({ policy: policySpecSchema, keys }), result: v.object({ models: v.array(v.string()) }) },
	/** Tries a policy: what it can do, and a short text of it. */
	probe: {
		params: v.object({ policy: policySpecSchema, keys }),
		result: v.object({
			capabilities: v.object({
				logprobs: v.boolean(),
				alternatives: v.number(),
				distribution: v.boolean(),
				prefix: v.boolean(),
				seed: v.boolean(),
				instructions: v.boolean(),
				score: v.boolean(),
				heads: v.array(v.picklist(headNames)),
			}),
			model: v.string(),
			sample: v.string(),
			millis: v.number(),
			/** What was tried and did not work, in words. */
			notes: v.array(v.string()),
		}),
	},
} as const;
export type SearchMethod = keyof typeof searchRequests;
export type SearchParams<M extends SearchMethod> = v.InferInput<(typeof searchRequests)[M]['params']>;
export type SearchResult<M extends SearchMethod> = v.InferOutput<(typeof searchRequests)[M]['result']>;

export const searchNotifications = {
	/** A search has started, continues, or has ended (with why it could not continue, when it failed). */
	changed: v.object({ log: path, state: v.picklist(['running', 'ended']), failure: v.nullable(v.string()) }),
	/** A comparison of strategies has started, continues, or has ended (with why, when it failed). */
	compared: v.object({ folder: path, state: v.picklist(['running', 'ended']), failure: v.nullable(v.string()) }),
	log: v.object({ message: v.string() }),
} as const;
export type SearchNotification = keyof typeof searchNotifications;
export type SearchNews<N extends SearchNotification> = v.InferOutput<(typeof searchNotifications)[N]>;
