import { Random } from '../../base/random.ts';
import type { ChatMessage } from '../../protocol/scorer.ts';
import type { SearchProblem, TreeEvent, TreeEventOf } from '../../protocol/treeLog.ts';
import type { TraceTags } from '../trace/trace.ts';
import { AnswerClasses } from './answerClasses.ts';
import type { BudgetMeter, SearchTotals } from './budgetMeter.ts';
import { toolEvents, turnsOf } from './episodeTurns.ts';
import { type Child, Generator } from './generator.ts';
import { partsOf } from './nodeParts.ts';
import { NodePrefixes } from './nodePrefixes.ts';
import type { Generation, Policy, TokenDetail } from './policy.ts';
import { PolicyQueue } from './policyQueue.ts';
import { meanOf } from './readGeneration.ts';
import type { ScoreItem, Scorer } from './scorer.ts';
import { ScorerQueue } from './scorerQueue.ts';
import type { AskOptions, GenerateOptions, NewNode, Sampling, Search, SearchNote } from './search.ts';
import { SearchStop } from './searchStop.ts';
import type { SearchTree } from './searchTree.ts';
import { statedIn } from './statedIn.ts';
import type { StepRule } from './stepRule.ts';
import type { TreeNode } from './treeNode.ts';

/** Search context for operators and strategies. */
type SearchFacts = Pick<
	Search,
	'problem' | 'tree' | 'root' | 'isCut' | 'policy' | 'guide' | 'judge' | 'sampling' | 'tags' | 'concurrency'
>;

export interface OperatorSettings extends SearchFacts {
	/** null if a step extends to the end of the completion. */
	readonly rule: StepRule | null;
	readonly seed: number;
	/** Index of this part in a continued search; each part uses different seeds. */
	readonly part: number;
	readonly meter: BudgetMeter;
	readonly totals: SearchTotals;
	/** Token details by node, if recorded in the log. */
	readonly details: Map<number, TokenDetail>;
	readonly sameAnswer: ((a: string, b: string) => boolean) | undefined;
	/** Applies an event to the tree and writes it to the log. */
	readonly emit: (event: TreeEvent) => void;
	/** Seconds since the start of the search. */
	readonly at: () => number;
	/** Throws `SearchStop` if the search must end. */
	readonly check: () => void;
	readonly breathe: (() => Promise<void> | null) | undefined;
	/** Returns whether the search must end immediately. If so, no slow operation should start. */
	readonly hurried: () => boolean;
}

type NodeEvent = TreeEventOf<'node'>;

/** Search operators; see `Search`. */
export class SearchOperators implements Search {
	readonly problem: SearchProblem;
	readonly tree: SearchTree;
	readonly root: number;
	readonly isCut: boolean;
	readonly policy: Policy;
	readonly guide: Scorer | null;
	readonly judge: Scorer | null;
	readonly sampling: Sampling;
	readonly tags: TraceTags;
	readonly concurrency: number;

	readonly #settings: OperatorSettings;
	readonly #prefixes: NodePrefixes;
	readonly #generator: Generator;
	readonly #queue: PolicyQueue;
	readonly #scorers = new Map<Scorer, ScorerQueue>();
	readonly #answers: AnswerClasses;
	/** Generation that produced each node in this part of the search. */
	readonly #generations: (Generation | undefined)[] = [];
	#stopped: SearchStop | null = null;
	#concluding: 'evaluate' | 'nothing' | null = null;

	constructor(settings: OperatorSettings) {
		this.#settings = settings;
		const { problem, tree, root, isCut, policy, guide, judge, sampling, tags, concurrency, seed, part, rule, meter } =
			settings;
		this.problem = problem;
		this.tree = tree;
		this.root = root;
		this.isCut = isCut;
		this.policy = policy;
		this.guide = guide;
		this.judge = judge;
		this.sampling = sampling;
		this.tags = tags;
		this.concurrency = concurrency;
		const streams = Random.of(seed, 'search', ...(part === 0 ? [] : [part])).uint32();
		this.#prefixes = new NodePrefixes(tree, streams);
		this.#queue = new PolicyQueue(policy, concurrency);
		this.#answers = new AnswerClasses(settings.sameAnswer);
		this.#generator = new Generator({
			tree,
			policy,
			queue: this.#queue,
			meter,
			prefixes: this.#prefixes,
			sampling,
			rule,
			answerEnd: tags.answer?.[1] ?? null,
			problem: [{ role: 'user', content: problem.prompt }],
			seed: streams,
			concurrency,
			totals: settings.totals,
			fault: (id, message) => this.note({ t: 'fault', id, part: 'policy', message }),
			grow: (child, parents, before, options) => this.#grow(child, parents, before, options),
		});
	}

	/** Why fewer generations were returned than the strategy requested; null if none are missing. */
	get cutShort(): Generator['cutShort'] {
		return this.#generator.cutShort;
	}

	/** Message from the last policy failure; null if there was none. */
	get lastFault(): string | null {
		return this.#generator.lastFault;
	}

	get lastReason(): Generator['lastReason'] {
		return this.#generator.lastReason;
	}

	/** Waits for operations that a strategy left in flight, and keeps their results. */
	settled(): Promise<void> {
		return this.#settings.meter.idle();
	}

	/** Stops further generation; scorers can still be called if `evaluating` is true. */
	conclude(evaluating: boolean): void {
		this.#concluding = evaluating ? 'evaluate' : 'nothing';
	}

	random(...purpose: readonly (string | number)[]): Random {
		return Random.of(this.#settings.seed, ...purpose);
	}

	generate(node: number, options: GenerateOptions): Promise<readonly TreeNode[]> {
		try {
			this.#check();
			return this.#generator.generate(node, options);
		} catch (error) {
			return Promise.reject(error);
		}
	}

	async ask(messages: readonly ChatMessage[], options: AskOptions = {}): Promise<readonly string[]> {
		this.#check();
		return this.#generator.ask(messages, options);
	}

	add(node: NewNode): TreeNode {
		this.#check();
		this.#settings.meter.node();
		const { parents, text, role = 'thought', final = false, answer = null, label, prior, tokens, data } = node;
		const fresh = node.fresh ?? parents.length > 1;
		return this.#emitNode({
			t: 'node',
			at: this.#settings.at(),
			id: this.tree.nodes.length,
			by: 'policy',
			parents: parents as number[],
			text,
			role,
			final,
			answer,
			...(label === undefined ? {} : { label }),
			...(prior === undefined ? {} : { prior }),
			...(tokens === undefined ? {} : { tokens }),
			...(data === undefined ? {} : { data }),
			...(fresh ? { fresh } : {}),
		});
	}

	async evaluate(nodes: readonly number[], scorer?: Scorer): Promise<readonly (number | null)[]> {
		if (this.#concluding === 'nothing') return nodes.map(() => null);
		if (this.#concluding === null) this.#check();
		const first = nodes.length === 0 ? null : this.#scorerOf(nodes[0] as number, scorer);
		if (nodes.every((node) => this.#scorerOf(node, scorer) === first)) {
			return first === null ? nodes.map(() => null) : this.#score(nodes, first);
		}
		const values: (number | null)[] = nodes.map(() => null);
		const places = Map.groupBy(nodes.keys(), (i) => this.#scorerOf(nodes[i] as number, scorer));
		const scored = [...places].map(async ([own, list]) => {
			if (own === null) return;
			const given = await this.#score(
				list.map((i) => nodes[i] as number),
				own,
			);
			for (const [k, i] of list.entries()) values[i] = given[k] ?? null;
		});
		await Promise.all(scored);
		return values;
	}

	select(node: number, candidates?: readonly { readonly id: number; readonly value: number }[]): void {
		const { emit, at } = this.#settings;
		const path = this.tree.pathTo(node);
		if (candidates === undefined) emit({ t: 'select', at: at(), path });
		else emit({ t: 'select', at: at(), path, candidates: candidates as { id: number; value: number }[] });
	}

	backup(path: readonly number[], values: readonly number[]): void {
		const { emit, at } = this.#settings;
		emit({ t: 'visit', at: at(), path: path as number[], values: values as number[], times: 1 });
	}

	prune(node: number, reason: string): void {
		this.#settings.emit({ t: 'prune', at: this.#settings.at(), id: node, reason });
	}

	merge(node: number, into: number): void {
		this.#settings.emit({ t: 'merge', at: this.#settings.at(), id: node, into });
	}

	simulation(): void {
		this.#check();
		this.#settings.meter.simulation();
		this.#settings.totals.simulations++;
	}

	breathe(): Promise<void> | null {
		return this.#settings.breathe?.() ?? null;
	}

	async parallel<T, R>(items: readonly T[], task: (item: T, index: number) => Promise<R>): Promise<R[]> {
		const results: R[] = new Array(items.length);
		let next = 0;
		let failed: { readonly error: unknown } | null = null;
		const worker = async () => {
			while (next < items.length && failed === null) {
				const index = next++;
				try {
					results[index] = await task(items[index] as T, index);
				} catch (error) {
					// Waits for operations in flight and keeps their results. Unexpected errors take precedence over the end of
					// the search.
					if (failed === null || !(error instanceof SearchStop)) failed = { error };
				}
			}
		};
		await Promise.all(Array.from({ length: Math.min(this.concurrency, items.length) }, worker));
		if (failed !== null) throw (failed as { readonly error: unknown }).error;
		return results;
	}

	sameAnswer(a: string, b: string): boolean {
		return a === b || this.answerClass(a) === this.answerClass(b);
	}

	answerClass(answer: string): number {
		return this.#answers.of(answer, this.#settings.hurried());
	}

	textOf(node: number): string {
		return this.#prefixes.of(node).text;
	}

	answerIn(completion: string): string | null {
		return statedIn(completion, this.tags);
	}

	tokensOf(node: number): TokenDetail | null {
		return this.#settings.details.get(node) ?? null;
	}

	note(event: SearchNote): void {
		this.#settings.emit({ ...event, at: this.#settings.at() } as TreeEvent);
	}

	/** Ends operations in flight and rejects further requests. */
	stop(stop: SearchStop): void {
		if (this.#stopped !== null) return;
		this.#stopped = stop;
		this.#queue.stop(stop);
		for (const queue of this.#scorers.values()) queue.stop(stop);
		this.#settings.meter.stop(stop);
	}

	#check(): void {
		if (this.#stopped !== null) throw this.#stopped;
		if (this.#concluding !== null) throw new SearchStop('complete');
		this.#settings.check();
	}

	#scorerOf(node: number, scorer: Scorer | undefined): Scorer | null {
		if (scorer !== undefined) return scorer;
		const { final } = this.tree.node(node) as TreeNode;
		const own = final ? (this.judge ?? this.guide) : this.guide;
		return own !== null && (final || own.scope === 'step') ? own : null;
	}

	async #score(nodes: readonly number[], scorer: Scorer): Promise<readonly (number | null)[]> {
		let queue = this.#scorers.get(scorer);
		if (queue === undefined) {
			queue = new ScorerQueue(scorer);
			this.#scorers.set(scorer, queue);
		}
		const given = await queue.submit(nodes.map((node) => this.#item(node)));
		const { emit, at } = this.#settings;
		return nodes.map((id, i) => {
			const value = given[i];
			const sound = typeof value === 'number' && Number.isFinite(value) ? value : null;
			if (sound === null && value !== null) {
				this.note({
					t: 'fault',
					id,
					part: 'scorer',
					message: `Scorer ${scorer.name} returned an invalid value: ${String(value)}.`,
				});
			}
			emit({ t: 'score', at: at(), id, scorer: scorer.name, value: sound });
			return sound;
		});
	}

	#item(id: number): ScoreItem {
		const { final, answer } = this.tree.node(id) as TreeNode;
		const { text, logprob, tokens } = this.#prefixes.of(id);
		const turns = this.policy.plays === true ? { turns: turnsOf(this.tree, id) } : {};
		return {
			problem: this.problem,
			completion: text,
			steps: this.tree.partsOf(id).map((part) => (this.tree.node(part) as TreeNode).text),
			final,
			answer,
			generation: this.#generations[id] ?? null,
			logprob,
			tokens,
			...turns,
		};
	}

	/** Adds one node for a generation, or a chain of nodes if it is split. Returns the last node. */
	#grow({ generation, prior, final }: Child, parents: readonly number[], before: string, options: GenerateOptions) {
		const parts = partsOf(generation, options.cut, (wanted) => this.#settings.meter.moreNodes(wanted));
		const whole = parts.length >= (generation.turns?.length ?? 0);
		let above = parents;
		let node: TreeNode | null = null;
		const last = parts.length - 1;
		for (let i = 0; i <= last; i++) {
			const part = parts[i] as Generation;
			const ends = final && whole && i === last;
			const event: NodeEvent = {
				t: 'node',
				at: this.#settings.at(),
				id: this.tree.nodes.length,
				by: 'policy',
				parents: above as number[],
				text: part.text,
				role: options.role ?? (ends ? 'answer' : 'thought'),
				final: ends,
				answer: ends ? this.#answerOf(part, before + generation.text) : null,
				finish: finishOf(part, i === last),
				logprob: part.logprob,
				prior: i === 0 ? prior : 1,
				tokens: part.tokens,
				entropy: meanOf(part.detail?.entropy),
			};
			if (options.label !== undefined) event.label = options.label;
			if (options.fresh && i === 0) event.fresh = true;
			if (part.turn !== undefined) {
				event.written = part.turn.written;
				if (part.turn.reward !== undefined) event.reward = part.turn.reward;
			}
			node = this.#emitNode(event, part);
			if (i < last) above = [node.id];
		}
		return node as TreeNode;
	}

	/** An episode states an answer only in a turn without calls. */
	#answerOf({ text, turn }: Generation, completion: string): string | null {
		if (this.policy.plays !== true) return this.answerIn(completion);
		return turn === undefined || turn.calls.length > 0 ? null : this.answerIn(text);
	}

	#emitNode(event: NodeEvent, generation?: Generation): TreeNode {
		const { emit, totals, details } = this.#settings;
		const { id, at } = event;
		emit(event);
		totals.nodes++;
		if (generation !== undefined) {
			this.#generations[id] = generation;
			const { detail } = generation;
			if (detail !== null) {
				details.set(id, detail);
				emit(tokensEvent(id, at, detail));
			}
			const { calls = [], fault } = generation.turn ?? {};
			for (const call of toolEvents(id, calls)) this.note(call);
			if (fault !== undefined) this.note({ t: 'fault', id, part: 'tool', message: fault });
		}
		return this.tree.node(id) as TreeNode;
	}
}

function finishOf({ finish, turn }: Generation, last: boolean): string {
	if (turn?.fault !== undefined) return 'error';
	return last || turn !== undefined ? finish : 'cut';
}

function tokensEvent(id: number, at: number, detail: TokenDetail): TreeEvent {
	// The lists belong to the policy and are never modified, although the schema type would allow it.
	return { t: 'tokens', at, id, partial: false, ...detail } as TreeEvent;
}
