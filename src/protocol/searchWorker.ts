import * as v from 'valibot';
import { headNames } from './control.ts';
import { episodeSchema } from './episode.ts';
import { policySpecSchema } from './policySpec.ts';
import { searchEnvironmentSchema, searchSpecSchema } from './searchSpec.ts';
import { comparisonSpecSchema } from './strategyComparison.ts';
import { searchBudgetSchema, treeEventSchema } from './treeLog.ts';

/*
 * Messages between the search worker (src/search/main.ts, a separate process per window) and the extension. A search is
 * a tree log, and viewers follow that file. The worker only starts, stops and continues searches. It exits with the
 * window; a log without an `end` can be continued.
 */

const path = v.pipe(v.string(), v.minLength(1));
const id = v.pipe(v.number(), v.integer(), v.minValue(0));
const empty = v.object({});

/** API keys from the extension's secret storage, by `policyKeyName`; sent with each request and never stored. */
const keys = v.optional(v.record(v.string(), v.string()), {});
/** Environment for scorer processes: Python, sandbox, API keys for judges. */
const environment = v.optional(v.record(v.string(), v.string()), {});
/** Memory limit, in MB, for the process that runs an episode's environment. */
const memoryMb = v.exactOptional(v.pipe(v.number(), v.minValue(1)));
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
	/** Starts a search; resolves when its log has its first lines. `log` must not exist yet. */
	start: {
		params: v.object({ spec: searchSpecSchema, problem, log: path, keys, environment, memoryMb }),
		result: empty,
	},
	/** Continues a search in its existing log file. */
	continue: {
		params: v.object({
			log: path,
			/**
			 * Replaces the specification in the log, if another program wrote the log or a different policy should be used.
			 */
			spec: v.optional(searchSpecSchema),
			budget: searchBudgetSchema,
			action: v.variant('kind', [
				v.object({ kind: v.literal('more') }),
				/** Continues the strategy below this node only. */
				v.object({ kind: v.literal('branch'), node: id }),
				/** Adds a sibling of the node with user-provided text and continues from it. */
				v.object({ kind: v.literal('edit'), node: id, text: v.string() }),
				/**
				 * Adds a sibling that matches the node up to a token, replaces that token, and lets the policy generate the
				 * rest.
				 */
				v.object({ kind: v.literal('force'), node: id, token: id, text: v.string() }),
			]),
			keys,
			environment,
			memoryMb,
		}),
		result: empty,
	},
	/** Appends a `prune` or `restore` event to a log. */
	prune: { params: v.object({ log: path, node: id, restore: v.boolean() }), result: empty },
	/** Stops a search; resolves when its end has been logged. */
	stop: { params: v.object({ log: path }), result: empty },
	/**
	 * Compares strategies in a folder, creating the comparison or continuing an existing one. Resolves when the first
	 * summary exists; progress is available from the folder's summary.
	 */
	compare: {
		params: v.object({ spec: comparisonSpecSchema, folder: path, keys, environment, memoryMb }),
		result: empty,
	},
	/** Stops a comparison; resolves when its summary reports that it has stopped. */
	stopComparing: { params: v.object({ folder: path }), result: empty },
	/** Lets a policy play one episode per row; reports progress with `played`. */
	playEpisodes: {
		params: v.object({
			/** Identifies the request in `played`. */
			job: v.string(),
			policy: policySpecSchema,
			episodes: v.object({
				environment: searchEnvironmentSchema,
				rows: v.array(v.object({ row: id, columns: v.record(v.string(), v.unknown()) })),
				seed: v.number(),
				memoryMb,
			}),
			keys,
			environment,
		}),
		result: v.object({
			/** Policy name. */
			name: v.string(),
			episodes: v.array(episodeSchema),
		}),
	},
	running: { params: empty, result: v.object({ searches: v.array(runningSearchSchema) }) },
	/** Returns the trees in another program's file; reading does not require a trusted workspace. */
	trees: {
		params: v.object({ path }),
		result: v.object({
			format: v.string(),
			trees: v.array(v.object({ name: v.string(), events: v.number() })),
			/** Description of anything that could not be read. */
			faults: v.array(v.string()),
		}),
	},
	treeEvents: {
		params: v.object({ path, tree: id, from: id, limit: v.pipe(v.number(), v.integer(), v.minValue(1)) }),
		result: v.object({ events: v.array(treeEventSchema), total: v.number() }),
	},
	treeText: { params: v.object({ path, tree: id, node: id }), result: v.object({ text: v.string() }) },
	/** Returns an agent's research report from its log; reading does not require a trusted workspace. */
	report: {
		params: v.object({ log: path }),
		result: v.object({ markdown: v.string(), reason: v.string(), answered: v.boolean() }),
	},
	/** Returns the models that a server lists; the policy's own model is ignored. */
	models: { params: v.object({ policy: policySpecSchema, keys }), result: v.object({ models: v.array(v.string()) }) },
	/** Probes a policy for its capabilities and a short sample of its output. */
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
			/** Descriptions of probes that failed. */
			notes: v.array(v.string()),
		}),
	},
} as const;
export type SearchMethod = keyof typeof searchRequests;
export type SearchParams<M extends SearchMethod> = v.InferInput<(typeof searchRequests)[M]['params']>;
export type SearchResult<M extends SearchMethod> = v.InferOutput<(typeof searchRequests)[M]['result']>;

export const searchNotifications = {
	/** A search has started, continued or ended; `failure` explains why it failed, if it did. */
	changed: v.object({ log: path, state: v.picklist(['running', 'ended']), failure: v.nullable(v.string()) }),
	/** A strategy comparison has started, continued or ended; `failure` explains why it failed, if it did. */
	compared: v.object({ folder: path, state: v.picklist(['running', 'ended']), failure: v.nullable(v.string()) }),
	/** Number of episodes of a `playEpisodes` request that have ended. */
	played: v.object({ job: v.string(), done: v.number() }),
	log: v.object({ message: v.string() }),
} as const;
export type SearchNotification = keyof typeof searchNotifications;
export type SearchNews<N extends SearchNotification> = v.InferOutput<(typeof searchNotifications)[N]>;
