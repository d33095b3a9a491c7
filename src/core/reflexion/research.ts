import type { StopReason, TreeEvent } from '../../protocol/treeLog.ts';
import { SearchTree } from '../search/searchTree.ts';
import type { AgentReplyKind } from './agentReply.ts';
import { critiqueOf, referencesOf } from './agentState.ts';
import { type CheckedReference, checkCitations } from './citations.ts';
import { type CritiqueItem, itemsOf } from './criticism.ts';
import { evidenceOf, type ToolRun, toolRunsOf } from './evidence.ts';

export interface ResearchAnswer {
	readonly node: number;
	readonly role: AgentReplyKind;
	readonly text: string;
	/** Seconds since the start of the search. */
	readonly at: number;
	/** null if the answer has no critique. */
	readonly critique: readonly (CritiqueItem & { readonly addressed: boolean })[] | null;
	/** References, checked against all evidence found during the run. */
	readonly references: readonly CheckedReference[];
	readonly dangling: readonly number[];
}

/** An agent's research run, as recorded in its log. */
export interface Research {
	readonly question: string;
	readonly policy: string;
	/** Search id. */
	readonly id: string;
	readonly answers: readonly ResearchAnswer[];
	/** Resulting answer, or null if there is none. */
	readonly result: ResearchAnswer | null;
	/** Unresolved critique points about the result. */
	readonly open: readonly CritiqueItem[];
	readonly tools: readonly ToolRun[];
	/** Title and text of the evidence, by source. */
	readonly evidence: ReadonlyMap<string, { readonly title: string | null; readonly text: string }>;
	readonly faults: readonly { readonly part: string; readonly message: string; readonly at: number }[];
	/** null while the search is running. */
	readonly stop: StopReason | null;
	/** Stop reason as text. */
	readonly reason: string;
	readonly tokens: number;
	readonly promptTokens: number | null;
	readonly cost: number | null;
	readonly seconds: number;
}

/** Reads a research run from its log events. For other searches, reads as much as possible. */
export function readResearch(events: Iterable<TreeEvent>): Research {
	const tree = new SearchTree();
	const faults: { part: string; message: string; at: number }[] = [];
	let end: Extract<TreeEvent, { t: 'end' }> | null = null;
	let seconds = 0;
	for (const event of events) {
		tree.apply(event);
		seconds = Math.max(seconds, event.at);
		if (event.t === 'fault') faults.push({ part: event.part, message: event.message, at: event.at });
		else if (event.t === 'end') end = event;
		else if (event.t === 'resume') end = null;
	}
	const evidence = evidenceOf(tree);
	const answers = tree.nodes.flatMap(({ id, role, text, bornAt, pruned }): ResearchAnswer[] => {
		if ((role !== 'draft' && role !== 'revision') || pruned !== null) return [];
		const critique = critiqueOf(tree, id);
		const { references, dangling } = checkCitations({ text, references: referencesOf(tree, id) }, evidence);
		const points = critique === null ? null : itemsOf(critique);
		return [
			{
				node: id,
				role,
				text,
				at: bornAt,
				critique: points?.map((item, i) => ({ ...item, addressed: critique?.addressed.includes(i) ?? false })) ?? null,
				references,
				dangling,
			},
		];
	});
	const best = end?.best?.at(-1) ?? null;
	const result = answers.find(({ node }) => node === best) ?? answers.at(-1) ?? null;
	const { start } = tree;
	return {
		question: start?.problem.prompt ?? '',
		policy:
			start === null ? '' : [start.policy.name, start.policy.model ?? ''].filter((name) => name !== '').join(', '),
		id: start?.id ?? '',
		answers,
		result,
		open: (result?.critique ?? []).filter(({ addressed }) => !addressed),
		tools: toolRunsOf(tree),
		evidence: new Map(evidence.map(({ source, title, text }) => [source, { title, text }])),
		faults,
		stop: end?.stop ?? null,
		reason: reasonOf(end, answers.length, faults),
		tokens: end?.tokens ?? 0,
		promptTokens: end?.promptTokens ?? null,
		cost: end?.cost ?? null,
		seconds: end?.seconds ?? seconds,
	};
}

const reasons: Readonly<Record<StopReason, string>> = {
	solved: 'The answer is good enough: its critique is empty, and its citations are supported.',
	'no-improvement': 'The last revisions did not improve the answer.',
	complete: 'All rounds are complete.',
	exhausted: 'The policy did not give a valid reply, and there are no retries left.',
	nodes: 'Node budget exhausted.',
	tokens: 'Token budget exhausted.',
	simulations: 'Simulation budget exhausted.',
	seconds: 'Time limit reached.',
	cost: 'Cost budget exhausted.',
	stopped: 'Stopped by user.',
	policy: 'The policy failed.',
	environment: 'The environment failed.',
	scorer: 'A scorer failed.',
};

function reasonOf(
	end: Extract<TreeEvent, { t: 'end' }> | null,
	answers: number,
	faults: readonly { readonly message: string }[],
): string {
	if (end === null) return answers === 0 ? 'No answer yet.' : 'Still running.';
	const message = end.message ?? (end.stop === 'exhausted' ? faults.at(-1)?.message : undefined);
	const detail = message === undefined ? '' : ` ${message.split('\n', 1)[0]}`;
	return `${reasons[end.stop]}${detail}`;
}
