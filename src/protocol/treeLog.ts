import * as v from 'valibot';

/*
 * The log of a search has one event per line, in chronological order, and is complete enough to reconstruct the tree at
 * any point from the lines before it. Nodes are numbered from 0 in event order; node 0 is the problem. A search can
 * continue after `end` with `resume`, more events, and another `end`.
 */

export const treeLogFormat = 1;

const id = v.pipe(v.number(), v.integer(), v.minValue(0));
const ids = v.array(id);
const numbers = v.array(v.nullable(v.number()));
const text = v.string();
/** Seconds since the start of the search, not counting the time between an `end` and a `resume`. */
const at = v.number();

/** Node roles. Strategies with plain trees use only `problem`, `thought` and `answer`. */
export const nodeRoles = [
	'problem',
	/** A reasoning step. */
	'thought',
	/** A finished completion. */
	'answer',
	/** A complete attempt to be revised. */
	'draft',
	'critique',
	'revision',
	/** Several thoughts merged into one. */
	'aggregate',
	/** A subproblem in least-to-most prompting. */
	'subproblem',
	/** A query or tool call, with its result. */
	'tool',
] as const;
export type NodeRole = (typeof nodeRoles)[number];

/**
 * Why a search ended.
 * - `complete`: completed; `solved`: stopped early because an acceptable answer was found
 * - `exhausted`: nothing left to expand; `no-improvement`: no further improvement
 * - `nodes`, `tokens`, `simulations`, `seconds`, `cost`: the budget with that name was exhausted
 * - `stopped`: stopped by the user; `policy`: permanent policy failure; `scorer`: permanent scorer failure
 * - `environment`: the environment of an episode is no longer available, or repeated calls give different results
 */
export const stopReasons = [
	'complete',
	'solved',
	'exhausted',
	'no-improvement',
	'nodes',
	'tokens',
	'simulations',
	'seconds',
	'cost',
	'stopped',
	'policy',
	'scorer',
	'environment',
] as const;
export type StopReason = (typeof stopReasons)[number];

/** Search budget; absent entries are unlimited. 0 is allowed and ends the search immediately. */
export const searchBudgetSchema = v.object({
	nodes: v.optional(v.pipe(v.number(), v.minValue(0))),
	/** Completion tokens, not counting prompts. */
	tokens: v.optional(v.pipe(v.number(), v.minValue(0))),
	simulations: v.optional(v.pipe(v.number(), v.minValue(0))),
	seconds: v.optional(v.pipe(v.number(), v.minValue(0))),
	/** In the currency of the policy's price. */
	cost: v.optional(v.pipe(v.number(), v.minValue(0))),
});
export type SearchBudget = v.InferOutput<typeof searchBudgetSchema>;

const problemSchema = v.object({
	prompt: text,
	/** The gold answer; null if unknown. */
	answer: v.optional(v.nullable(text), null),
	/** Public fields in the dataset row. */
	row: v.optional(v.record(v.string(), v.unknown()), {}),
});
export type SearchProblem = v.InferOutput<typeof problemSchema>;

/** How to compute a node's value Q from its simulation values. */
export const backups = ['mean', 'max'] as const;
export type Backup = (typeof backups)[number];

export const treeEventSchema = v.variant('t', [
	v.looseObject({
		t: v.literal('start'),
		at,
		format: v.number(),
		id: text,
		strategy: text,
		params: v.record(v.string(), v.unknown()),
		problem: problemSchema,
		/** Display name and model of the policy. */
		policy: v.object({ name: text, model: v.optional(text) }),
		/** `oracle`: the scorer sees the gold answer, so its results are an upper bound. */
		scorers: v.optional(v.array(v.object({ name: text, oracle: v.boolean() })), []),
		budget: v.optional(searchBudgetSchema, {}),
		seed: v.number(),
		backup: v.optional(v.picklist(backups), 'mean'),
		structure: v.optional(v.picklist(['chain', 'tree', 'graph']), 'tree'),
		/** Format name of the program that wrote the log; absent for our own logs. */
		foreign: v.optional(text),
		/** Everything needed to continue: the search specification (src/protocol/searchSpec.ts). */
		spec: v.optional(v.unknown()),
		/** Proof that this user started the search with this specification (src/runs/searchSeal.ts). */
		seal: v.optional(text),
	}),
	v.looseObject({
		t: v.literal('node'),
		at,
		id,
		/** Empty for a root; several entries form a graph. */
		parents: ids,
		/** Text appended to the first parent; for the root, the problem. */
		text,
		role: v.optional(v.picklist(nodeRoles), 'thought'),
		/** Whether the completion ends here, so that nothing can follow. */
		final: v.optional(v.boolean(), false),
		/** The answer at the end of the node; null if there is none. */
		answer: v.optional(v.nullable(text), null),
		/** Why generation stopped: `end` (end of sequence), `stop` (end of the step), `length`, `refusal`, `error`. */
		finish: v.optional(text),
		/** Sum over the node's tokens, in nats. */
		logprob: v.optional(v.nullable(v.number())),
		/** Prior probability among its siblings, as used by PUCT. */
		prior: v.optional(v.nullable(v.number())),
		/** Number of tokens in the text. */
		tokens: v.optional(v.nullable(v.number())),
		/** Mean over the node's tokens, in nats. */
		entropy: v.optional(v.nullable(v.number())),
		/**
		 * Whether the text is self-contained rather than a continuation of its first parent's text. Drafts, critiques,
		 * revisions, aggregates and subproblems always are.
		 */
		fresh: v.optional(v.boolean()),
		/** Who created the node: `person` if a user wrote or forced it. */
		by: v.optional(v.picklist(['policy', 'person']), 'policy'),
		/**
		 * Number of leading characters written by the policy; the results of its calls follow.
		 */
		written: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
		/** Reward of the episode that ends here; null if its environment gave none. */
		reward: v.optional(v.nullable(v.number())),
		/** Short name for nodes whose text is not suitable for display in the tree. */
		label: v.optional(text),
		/** Additional data from another program's log. */
		data: v.optional(v.record(v.string(), v.unknown())),
	}),
	/** Per-token data for a node whose policy reported it. Lists are parallel to `text`; null if unknown. */
	v.looseObject({
		t: v.literal('tokens'),
		at,
		id,
		text: v.array(text),
		logprob: numbers,
		entropy: v.optional(numbers),
		varentropy: v.optional(numbers),
		gini: v.optional(numbers),
		variance: v.optional(numbers),
		/** Most probable tokens at each position, with log-probabilities in nats. */
		top: v.optional(v.array(v.array(v.tuple([text, v.number()])))),
		/** Whether statistics cover only the top alternatives rather than the full distribution. */
		partial: v.optional(v.boolean(), false),
	}),
	v.looseObject({ t: v.literal('score'), at, id, scorer: text, value: v.nullable(v.number()), note: v.optional(text) }),
	/** The node that the strategy continues with, as the path from the root. */
	v.looseObject({
		t: v.literal('select'),
		at,
		path: ids,
		/** Candidates of the last decision, with the values that determined it. */
		candidates: v.optional(v.array(v.object({ id, value: v.number() }))),
	}),
	/** Values from one simulation, one per node on the path; N and Q follow from them for any backup rule. */
	v.looseObject({
		t: v.literal('visit'),
		at,
		path: ids,
		values: v.array(v.number()),
		/** Number of identical visits: a log from another program that only has N and Q gets one event per node. */
		times: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1)), 1),
	}),
	v.looseObject({ t: v.literal('prune'), at, id, reason: text }),
	/** Reopens a pruned node. */
	v.looseObject({ t: v.literal('restore'), at, id }),
	/** Marks a node as containing the same thought or answer as another one. */
	v.looseObject({ t: v.literal('merge'), at, id, into: id }),
	v.looseObject({
		t: v.literal('critique'),
		at,
		/** The criticized draft or answer. */
		id,
		missing: v.array(text),
		superfluous: v.array(text),
		/** Points that a later revision addressed, as indices into `missing` followed by `superfluous`. */
		addressed: v.optional(v.array(v.number()), []),
	}),
	v.looseObject({
		t: v.literal('tool'),
		at,
		id,
		name: text,
		arguments: v.unknown(),
		result: v.optional(v.unknown()),
		error: v.optional(text),
		seconds: v.optional(v.number()),
	}),
	/** A source that a node's text relies on, with the result of checking it. */
	v.looseObject({
		t: v.literal('reference'),
		at,
		/** The citing node. */
		id,
		label: text,
		source: text,
		/** The tool node that provided the source; null if none did. */
		evidence: v.nullable(id),
		supported: v.nullable(v.boolean()),
		note: v.optional(text),
	}),
	v.looseObject({
		t: v.literal('fault'),
		at,
		id: v.optional(v.nullable(id), null),
		part: v.picklist(['policy', 'scorer', 'tool', 'search']),
		message: text,
	}),
	v.looseObject({
		t: v.literal('resume'),
		at,
		/** Budget from here onward, not counting earlier usage. */
		budget: v.optional(searchBudgetSchema, {}),
		/**
		 * `more`: the strategy continues. `branch`: it continues below `node` only. `edit`, `force`: the same as `branch`,
		 * but after a node created by the user.
		 */
		action: v.picklist(['more', 'branch', 'edit', 'force']),
		node: v.optional(v.nullable(id), null),
		strategy: v.optional(text),
		params: v.optional(v.record(v.string(), v.unknown())),
	}),
	v.looseObject({
		t: v.literal('end'),
		at,
		/** Path to the search's result node; null if there is none. */
		best: v.nullable(ids),
		answer: v.nullable(text),
		/** Value of the result, according to the strategy's own metric. */
		value: v.optional(v.nullable(v.number()), null),
		stop: v.picklist(stopReasons),
		tokens: v.number(),
		promptTokens: v.optional(v.nullable(v.number()), null),
		simulations: v.optional(v.number(), 0),
		cost: v.optional(v.nullable(v.number()), null),
		seconds: v.number(),
		/**
		 * Whether the answer matches the gold answer, according to the accuracy reward's equivalence check; null if there
		 * is no gold answer.
		 */
		correct: v.optional(v.nullable(v.boolean()), null),
		message: v.optional(text),
	}),
]);
/** An event as read, with defaults filled in. */
export type TreeEvent = v.InferOutput<typeof treeEventSchema>;
export type TreeEventType = TreeEvent['t'];
export type TreeEventOf<T extends TreeEventType> = Extract<TreeEvent, { readonly t: T }>;
/** An event as written. */
export type TreeEventInput = v.InferInput<typeof treeEventSchema>;
