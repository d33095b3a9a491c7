import * as v from 'valibot';

/*
 * The log of a search: one event a line, in the order in which things happened, complete enough that the tree at any moment
 * follows from the lines up to it. Nodes are numbered from 0 in the order of their events; node 0 is the problem.
 * After `end` a search may continue: `resume`, more events, another `end`.
 */

export const treeLogFormat = 1;

const id = v.pipe(v.number(), v.integer(), v.minValue(0));
const ids = v.array(id);
const numbers = v.array(v.nullable(v.number()));
const text = v.string();
/** Seconds since the start of the search; it continues where it was after a `resume`. */
const at = v.number();

/** What a node is. Strategies of plain trees use `problem`, `thought` and `answer` alone. */
export const nodeRoles = [
	'problem',
	/** A step of reasoning. */
	'thought',
	/** A completion that has finished. */
	'answer',
	/** A whole attempt that is to be revised. */
	'draft',
	'critique',
	'revision',
	/** Several thoughts made into one. */
	'aggregate',
	/** A part of the problem, of least-to-most. */
	'subproblem',
	/** A query or a call and what came of it. */
	'tool',
] as const;
export type NodeRole = (typeof nodeRoles)[number];

/**
 * Why a search ended.
 * - `complete`: completed; `solved`: something was found that it may stop at
 * - `exhausted`: nothing is left to expand; `no-improvement`: no further improvement
 * - `nodes`, `tokens`, `simulations`, `seconds`, `cost`: the budget of that name
 * - `stopped`: a person did; `policy`: the policy failed for good; `scorer`: the scorer did
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
] as const;
export type StopReason = (typeof stopReasons)[number];

/** What a search may use up; what is absent is unlimited. 0 is allowed and ends the search before that is used. */
export const searchBudgetSchema = v.object({
	nodes: v.optional(v.pipe(v.number(), v.minValue(0))),
	/** Of completions, the prompts not counted. */
	tokens: v.optional(v.pipe(v.number(), v.minValue(0))),
	simulations: v.optional(v.pipe(v.number(), v.minValue(0))),
	seconds: v.optional(v.pipe(v.number(), v.minValue(0))),
	/** In the currency of the policy's prices. */
	cost: v.optional(v.pipe(v.number(), v.minValue(0))),
});
export type SearchBudget = v.InferOutput<typeof searchBudgetSchema>;

const problemSchema = v.object({
	prompt: text,
	/** The gold answer; null: unknown. */
	answer: v.optional(v.nullable(text), null),
	/** Public fields of the dataset row. */
	row: v.optional(v.record(v.string(), v.unknown()), {}),
});
export type SearchProblem = v.InferOutput<typeof problemSchema>;

/** How the values of simulations make a node's value Q. */
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
		/** Name and model of the policy, for people. */
		policy: v.object({ name: text, model: v.optional(text) }),
		/** `oracle`: it looks at the gold answer, so that its results are an upper bound. */
		scorers: v.optional(v.array(v.object({ name: text, oracle: v.boolean() })), []),
		budget: v.optional(searchBudgetSchema, {}),
		seed: v.number(),
		backup: v.optional(v.picklist(backups), 'mean'),
		structure: v.optional(v.picklist(['chain', 'tree', 'graph']), 'tree'),
		/** Who wrote the search, when it was another program: the name of its format. */
		foreign: v.optional(text),
		/** All that is needed to continue: the search's specification (src/protocol/searchSpec.ts). */
		spec: v.optional(v.unknown()),
		/** That this user began it with this specification (src/runs/searchSeal.ts). */
		seal: v.optional(text),
	}),
	v.looseObject({
		t: v.literal('node'),
		at,
		id,
		/** Empty: a root. Several: a graph. */
		parents: ids,
		/** What it adds to its first parent; of the root the problem. */
		text,
		role: v.optional(v.picklist(nodeRoles), 'thought'),
		/** Its completion has ended here: nothing can follow it. */
		final: v.optional(v.boolean(), false),
		/** The answer that it ends with; null: none is stated. */
		answer: v.optional(v.nullable(text), null),
		/** Why generating it ended: `end` (end of sequence), `stop` (end of the step), `length`, `refusal`, `error`. */
		finish: v.optional(text),
		/** Nats, summed over its tokens. */
		logprob: v.optional(v.nullable(v.number())),
		/** Probability among its siblings as PUCT uses it. */
		prior: v.optional(v.nullable(v.number())),
		/** Tokens of its text. */
		tokens: v.optional(v.nullable(v.number())),
		/** Nats, mean over its tokens. */
		entropy: v.optional(v.nullable(v.number())),
		/**
		 * Its text stands for itself and does not continue from its first parent's. So do those of drafts, critiques, revisions,
		 * aggregates and subproblems.
		 */
		fresh: v.optional(v.boolean()),
		/** A person wrote or forced it. */
		by: v.optional(v.picklist(['policy', 'person']), 'policy'),
		/** A short name, for nodes whose text is not what one wants to see in the tree. */
		label: v.optional(text),
		/** Whatever else another program's log says of it. */
		data: v.optional(v.record(v.string(), v.unknown())),
	}),
	/** Token by token, for a node whose policy told. Lists are parallel to `text`; a null is not known. */
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
		/** The most probable tokens at each place, with their log-probability in nats. */
		top: v.optional(v.array(v.array(v.tuple([text, v.number()])))),
		/** The statistics are of the top alternatives alone, not of the whole distribution. */
		partial: v.optional(v.boolean(), false),
	}),
	v.looseObject({ t: v.literal('score'), at, id, scorer: text, value: v.nullable(v.number()), note: v.optional(text) }),
	/** What the strategy continues with: the way from the root to it. */
	v.looseObject({
		t: v.literal('select'),
		at,
		path: ids,
		/** What the last decision was between, with what decided it. */
		candidates: v.optional(v.array(v.object({ id, value: v.number() }))),
	}),
	/** A simulation's values, one for each node of the path: N and Q follow for any backup rule. */
	v.looseObject({
		t: v.literal('visit'),
		at,
		path: ids,
		values: v.array(v.number()),
		/** As many alike: another program's log that tells N and Q alone has one for each node. */
		times: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1)), 1),
	}),
	v.looseObject({ t: v.literal('prune'), at, id, reason: text }),
	/** A pruned node is open again. */
	v.looseObject({ t: v.literal('restore'), at, id }),
	/** The same thought or answer as another node. */
	v.looseObject({ t: v.literal('merge'), at, id, into: id }),
	v.looseObject({
		t: v.literal('critique'),
		at,
		/** The draft or answer that is criticized. */
		id,
		missing: v.array(text),
		superfluous: v.array(text),
		/** What a later revision took up, by its place in `missing` followed by `superfluous`. */
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
	/** A source that a text rests on, and what the check of it said. */
	v.looseObject({
		t: v.literal('reference'),
		at,
		/** The node that cites. */
		id,
		label: text,
		source: text,
		/** The tool node that the source came from; null: none did. */
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
		/** What may be used from here on, whatever was used before. */
		budget: v.optional(searchBudgetSchema, {}),
		/** `more`: the strategy continues; `branch`: from `node` alone; `edit`, `force`: also, after a person's node. */
		action: v.picklist(['more', 'branch', 'edit', 'force']),
		node: v.optional(v.nullable(id), null),
		strategy: v.optional(text),
		params: v.optional(v.record(v.string(), v.unknown())),
	}),
	v.looseObject({
		t: v.literal('end'),
		at,
		/** The way to the node that is the search's result; null: there is none. */
		best: v.nullable(ids),
		answer: v.nullable(text),
		/** Its value by the strategy's own measure. */
		value: v.optional(v.nullable(v.number()), null),
		stop: v.picklist(stopReasons),
		tokens: v.number(),
		promptTokens: v.optional(v.nullable(v.number()), null),
		simulations: v.optional(v.number(), 0),
		cost: v.optional(v.nullable(v.number()), null),
		seconds: v.number(),
		/** Whether the answer is the gold one, by the accuracy reward's equivalence; null: there is no gold answer. */
		correct: v.optional(v.nullable(v.boolean()), null),
		message: v.optional(text),
	}),
]);
/** An event as it is read: what may be left out has its default. */
export type TreeEvent = v.InferOutput<typeof treeEventSchema>;
export type TreeEventType = TreeEvent['t'];
export type TreeEventOf<T extends TreeEventType> = Extract<TreeEvent, { readonly t: T }>;
/** An event as it is written. */
export type TreeEventInput = v.InferInput<typeof treeEventSchema>;
