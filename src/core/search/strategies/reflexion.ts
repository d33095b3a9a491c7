import * as v from 'valibot';
import { Failure } from '../../../base/failure.ts';
import { count } from '../../../protocol/recipeKeys/recipeFields.ts';
import {
	type AgentQuery,
	type AgentReply,
	type AgentReplyKind,
	queriesOf,
	readAgentReply,
	replyJsonSchema,
} from '../../reflexion/agentReply.ts';
import { critiqueOf, latestAnswer, referencesOf } from '../../reflexion/agentState.ts';
import { type AgentTool, passing, type ToolOutput } from '../../reflexion/agentTool.ts';
import { type CitationCheck, checkCitations, withNumbers } from '../../reflexion/citations.ts';
import { addressedBy, isSameText, itemsOf } from '../../reflexion/criticism.ts';
import { evidenceOf, type ToolRun, toolLabel, toolOfLabel, toolRunOf, toolRunsOf } from '../../reflexion/evidence.ts';
import { draftInstruction, mendPrompt, revisionInstruction } from '../../reflexion/reflexionPrompts.ts';
import { assistant, user } from '../prompts/fillPrompt.ts';
import type { Search } from '../search.ts';
import type { Strategy } from '../strategy.ts';
import type { TreeNode } from '../treeNode.ts';

const paramsSchema = v.strictObject({
	rounds: v.optional(count('Max number of revisions', 0, 100), 3),
	queries: v.optional(count('Max number of queries per round', 1, 30), 4),
	words: v.optional(count('Target length of the answer, in words', 10, 5000), 250),
	patience: v.optional(count('Consecutive revisions without improvement before stopping', 1, 100), 2),
	retries: v.optional(count('Max number of retries over the whole search for malformed replies', 0, 1000), 4),
	toolRetries: v.optional(
		count('Max number of retries over the whole search for tool calls that fail temporarily', 0, 1000),
		3,
	),
	evidence: v.optional(count('Number of characters of tool results shown to the policy', 500, 1_000_000), 24_000),
});
export type ReflexionParams = v.InferOutput<typeof paramsSchema>;

/**
 * After a draft, alternates between tool calls and revisions until the critique is empty, nothing improves, or the
 * rounds run out.
 */
export const reflexion = (tools: readonly AgentTool[] = []): Strategy<ReflexionParams> => ({
	name: 'reflexion',
	title: 'Reflexion with tools',
	description:
		'Drafts an answer, critiques it, queries tools for missing information, and revises the answer with references.',
	source: 'Shinn et al. 2023',
	structure: 'graph',
	params: paramsSchema,
	needs: { policy: ['instructions'] },
	async run(search, params) {
		const agent = new Agent(search, tools, params);
		let answer = latestAnswer(search.tree, search.root) ?? (await agent.draft());
		if (answer === null) return { stop: 'exhausted', best: null };
		for (let round = 0, stale = 0; ; round++) {
			if (agent.isGoodEnough(answer)) return { stop: 'solved' };
			if (round === params.rounds) return { stop: 'complete' };
			const found = await agent.ask(answer);
			const revised: TreeNode | null = await agent.revise(answer, found);
			if (revised === null) return { stop: 'exhausted' };
			search.select(revised.id);
			if (isSameText(answer.text, revised.text)) return { stop: 'no-improvement' };
			stale = agent.isBetter(revised, answer) ? 0 : stale + 1;
			answer = revised;
			if (stale >= params.patience && !agent.isGoodEnough(answer)) return { stop: 'no-improvement' };
		}
	},
	async conclude(search) {
		const last = latestAnswer(search.tree, search.root);
		return { best: last?.id ?? null, answer: last?.answer ?? last?.text ?? null };
	},
});

/** Query results from one round. */
interface Found {
	/** Nodes that the revision is based on. */
	readonly nodes: readonly number[];
	readonly failed: readonly ToolRun[];
	readonly repeated: readonly string[];
}

class Agent {
	readonly #search: Search;
	readonly #tools: readonly AgentTool[];
	readonly #params: ReflexionParams;
	/** Queries that an answer requested and that have not run yet. */
	readonly #queries = new Map<number, readonly AgentQuery[]>();
	#retries: number;
	#toolRetries: number;

	constructor(search: Search, tools: readonly AgentTool[], params: ReflexionParams) {
		this.#search = search;
		this.#tools = tools;
		this.#params = params;
		this.#retries = params.retries;
		this.#toolRetries = params.toolRetries;
	}

	async draft(): Promise<TreeNode | null> {
		const reply = await this.#reply('draft', [user(this.#task())]);
		return reply === null ? null : this.#add([this.#search.root], 'draft', reply);
	}

	/** Returns whether nothing is missing or superfluous and all citations are supported. */
	isGoodEnough({ id }: TreeNode): boolean {
		const critique = critiqueOf(this.#search.tree, id);
		return critique !== null && itemsOf(critique).length === 0 && faultsOf(this.#check(id)) === 0;
	}

	/** Returns whether a point in the critique was addressed or more citations are supported. */
	isBetter(revised: TreeNode, before: TreeNode): boolean {
		const { tree } = this.#search;
		const [is, was] = [this.#check(revised.id), this.#check(before.id)];
		return (
			(critiqueOf(tree, before.id)?.addressed.length ?? 0) > 0 ||
			supportedIn(is) > supportedIn(was) ||
			faultsOf(is) < faultsOf(was)
		);
	}

	/** Runs an answer's queries concurrently, skipping repeated queries. */
	async ask(answer: TreeNode): Promise<Found> {
		const { tree } = this.#search;
		const before = new Map(toolRunsOf(tree).map((run) => [keyOf(run.tool, run.query), run]));
		const nodes = new Set<number>();
		const failed: ToolRun[] = [];
		const repeated: string[] = [];
		for (const id of answer.children) {
			const child = tree.node(id);
			if (child?.role === 'tool' && child.pruned === null) nodes.add(id);
		}
		for (const { tool, query } of this.#callsOf(answer.id)) {
			const same = before.get(keyOf(tool, query));
			if (same?.sources) {
				nodes.add(same.node.id);
				repeated.push(query);
				continue;
			}
			const node = this.#search.add({ parents: [answer.id], text: query, role: 'tool', label: toolLabel(tool, query) });
			nodes.add(node.id);
			if (same === undefined || same.error === null) before.set(keyOf(tool, query), toolRunOf(tree, node));
			else this.#fail(node.id, tool, query, `Skipped: this query already failed (${same.error}).`);
		}
		const open = [...nodes].filter((id) => toolRunOf(tree, tree.node(id) as TreeNode).sources === null);
		await this.#search.parallel(open, async (id) => {
			const node = tree.node(id) as TreeNode;
			if (toolRunOf(tree, node).error === null) await this.#run(node);
			const run = toolRunOf(tree, node);
			if (run.error !== null) failed.push(run);
		});
		return { nodes: [...nodes], failed: failed.sort((a, b) => a.node.id - b.node.id), repeated };
	}

	async revise(answer: TreeNode, { nodes, failed, repeated }: Found): Promise<TreeNode | null> {
		const { tree } = this.#search;
		const critique = critiqueOf(tree, answer.id);
		const references = referencesOf(tree, answer.id);
		const given = { answer: answer.text, ...(critique === null ? {} : { reflection: pointsOf(critique) }), references };
		const instruction = revisionInstruction({
			evidence: evidenceOf(tree),
			failed,
			repeated,
			check: references.length === 0 ? null : this.#check(answer.id),
			critique,
			tools: this.#tools.length > 0,
			words: this.#params.words,
			characters: this.#params.evidence,
		});
		const reply = await this.#reply('revision', [
			user(this.#task()),
			assistant(JSON.stringify(given)),
			user(instruction),
		]);
		return reply === null ? null : this.#add([answer.id, ...nodes], 'revision', reply);
	}

	/** Requests a valid reply, explaining the error after each malformed one; null if the retries run out. */
	async #reply(kind: AgentReplyKind, messages: readonly ReturnType<typeof user>[]): Promise<AgentReply | null> {
		const schema = replyJsonSchema(
			kind,
			this.#tools.map(({ name }) => name),
		);
		let conversation = messages;
		for (;;) {
			const [text = ''] = await this.#search.ask(conversation, { schema });
			const reply = readAgentReply(text, kind);
			if (typeof reply !== 'string') return reply;
			const left = this.#retries === 0 ? 'no retries left' : 'retrying';
			this.#search.note({
				t: 'fault',
				id: null,
				part: 'policy',
				message: `Malformed ${kind}, ${left}: ${reply}`,
			});
			if (this.#retries === 0) return null;
			this.#retries--;
			// Includes only the latest reply, so that malformed replies do not fill the context.
			conversation = [...messages, assistant(text.slice(0, 4000)), user(mendPrompt(reply))];
		}
	}

	#task(): string {
		return draftInstruction(this.#search.problem.prompt, this.#tools, this.#params);
	}

	#add(parents: readonly number[], role: AgentReplyKind, reply: AgentReply): TreeNode {
		const search = this.#search;
		const evidence = evidenceOf(search.tree);
		const cited = withNumbers(reply.answer, reply.references, evidence);
		const node = search.add({ parents, text: cited.text, role, answer: this.#stated(cited.text) });
		const before = role === 'revision' ? search.tree.node(parents[0] as number) : undefined;
		const critique = before === undefined ? null : critiqueOf(search.tree, before.id);
		if (before !== undefined && critique !== null) {
			const addressed = addressedBy(critique, !isSameText(before.text, node.text), reply.reflection);
			if (addressed.length > 0) search.note({ t: 'critique', id: before.id, ...pointsOf(critique), addressed });
		}
		search.note({ t: 'critique', id: node.id, ...pointsOf(reply.reflection), addressed: [] });
		for (const { number, source, evidence: tool, supported, note } of checkCitations(cited, evidence).references) {
			const given = note === '' ? {} : { note };
			search.note({ t: 'reference', id: node.id, label: `[${number}]`, source, evidence: tool, supported, ...given });
		}
		const asked = queriesOf(reply);
		this.#queries.set(node.id, asked.slice(0, this.#params.queries));
		if (asked.length > this.#params.queries && this.#tools.length > 0) {
			const message = `${asked.length} queries requested; running only the first ${this.#params.queries}.`;
			search.note({ t: 'fault', id: node.id, part: 'policy', message });
		}
		return node;
	}

	/** Returns the answer in tags if the question asks for one. For prose, the whole text is the answer. */
	#stated(text: string): string | null {
		const { tags } = this.#search;
		return tags.answer !== null && text.includes(tags.answer[0]) ? this.#search.answerIn(text) : null;
	}

	/** Returns each query with its tool; a query without a tool is sent to all search tools. */
	#callsOf(id: number): { readonly tool: string; readonly query: string }[] {
		if (this.#tools.length === 0) return [];
		const calls = (this.#queries.get(id) ?? []).flatMap(({ tool, query }) => {
			const searching = this.#tools.filter(({ searches }) => searches);
			if (tool === null && searching.length > 0) return searching.map(({ name }) => ({ tool: name, query }));
			const named = this.#tools.find(({ name }) => name.toLowerCase() === tool?.toLowerCase());
			return [{ tool: named?.name ?? tool ?? 'no tool', query }];
		});
		return [...new Map(calls.map((call) => [keyOf(call.tool, call.query), call])).values()];
	}

	async #run(node: TreeNode): Promise<void> {
		const name = toolOfLabel(node.label);
		const tool = this.#tools.find((one) => one.name === name);
		if (tool === undefined) {
			const names = this.#tools.map((one) => one.name).join(', ');
			this.#fail(node.id, name, node.text, `Unknown tool "${name}". Available tools: ${names}.`);
			return;
		}
		for (;;) {
			try {
				const result: ToolOutput = await tool.run(node.text);
				this.#search.note({ t: 'tool', id: node.id, name, arguments: { query: node.text }, result });
				return;
			} catch (error) {
				const failure = Failure.from(error);
				// The search ended and canceled the tool. The next operator reports the cancellation, and the query stays
				// pending.
				if (failure.reason === 'cancelled') return;
				const again = passing.has(failure.reason) && this.#toolRetries > 0;
				if (!again) {
					this.#fail(node.id, name, node.text, failure.message);
					return;
				}
				this.#toolRetries--;
				const message = `${name} failed, retrying: ${failure.message}`;
				this.#search.note({ t: 'fault', id: node.id, part: 'tool', message });
			}
		}
	}

	#fail(id: number, name: string, query: string, error: string): void {
		this.#search.note({ t: 'tool', id, name, arguments: { query }, error });
	}

	/** Checks citations against everything found so far. */
	#check(id: number): CitationCheck {
		const { tree } = this.#search;
		const text = tree.node(id)?.text ?? '';
		return checkCitations({ text, references: referencesOf(tree, id) }, evidenceOf(tree));
	}
}

const pointsOf = ({ missing, superfluous }: { missing: readonly string[]; superfluous: readonly string[] }) => ({
	missing: [...missing],
	superfluous: [...superfluous],
});

const faultsOf = ({ references, dangling }: CitationCheck): number =>
	references.filter(({ supported }) => supported === false).length + dangling.length;
const supportedIn = ({ references }: CitationCheck): number =>
	references.filter(({ supported }) => supported === true).length;

/** Returns a key for a query, ignoring differences in whitespace. */
const keyOf = (tool: string, query: string): string => `${tool}\n${query.trim().replace(/\s+/g, ' ')}`;
