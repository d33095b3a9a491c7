import { Random } from '../../src/base/random.ts';
import { readTreeEvent } from '../../src/protocol/treeEventReader.ts';
import type { TreeEvent, TreeEventInput } from '../../src/protocol/treeLog.ts';

/** Parses events as if read from a log, which fills in defaults for optional fields. */
export function treeEvents(events: readonly TreeEventInput[]): TreeEvent[] {
	return events.map((event) => {
		const read = readTreeEvent(structuredClone(event));
		if (read === null) throw new TypeError(`Invalid event: ${JSON.stringify(event)}`);
		return read;
	});
}

const words =
	'let us try the sum of both sides then divide by two and check that it holds for all of them so far'.split(' ');

export interface GrownTree {
	readonly nodes: number;
	readonly seed?: number;
	/** Whether to omit `end`, as in a running search. */
	readonly open?: boolean;
	readonly gold?: string;
}

/**
 * Builds the log of a UCT search over made-up thoughts: select, expand, evaluate, back up, and an end with the best
 * path.
 */
export function mctsEvents({ nodes, seed = 1, open = false, gold = '42' }: GrownTree): TreeEvent[] {
	const random = Random.of(seed, 'tree');
	const events: TreeEventInput[] = [
		{
			t: 'start',
			at: 0,
			format: 1,
			id: `grown-${seed}`,
			strategy: 'mcts',
			params: { simulations: nodes, exploration: 1.25, expansions: 3 },
			problem: { prompt: 'What is six times seven?\nThink step by step.', answer: gold },
			policy: { name: 'Countdown 0.6 M', model: 'step 400' },
			scorers: [{ name: 'value', oracle: false }],
			budget: { nodes },
			seed,
		},
	];
	const parent = [-1];
	const depth = [0];
	const visits = [0];
	const total = [0];
	const children: number[][] = [[]];
	let at = 0;
	const push = (event: TreeEventInput): void => {
		events.push(event);
	};
	const text = (): string =>
		`${Array.from({ length: 4 + Math.floor(random.next() * 9) }, () => words[Math.floor(random.next() * words.length)]).join(' ')}.\n`;
	push({ t: 'node', at, id: 0, parents: [], text: 'What is six times seven?\nThink step by step.', role: 'problem' });
	const finals: { id: number; answer: string }[] = [];
	const first = new Map<string, number>();
	while (parent.length < nodes) {
		at += 0.004 + random.next() * 0.01;
		let node = 0;
		const path = [0];
		while ((children[node] as number[]).length >= 3 && (depth[node] as number) < 40) {
			let best = -1;
			let max = Number.NEGATIVE_INFINITY;
			for (const child of children[node] as number[]) {
				const n = visits[child] as number;
				const uct =
					n === 0 ? 1e9 : (total[child] as number) / n + 0.9 * Math.sqrt(Math.log(visits[node] as number) / n);
				if (uct > max) [best, max] = [child, uct];
			}
			node = best;
			path.push(node);
		}
		push({
			t: 'select',
			at,
			path,
			...(parent[node] === -1
				? {}
				: {
						candidates: (children[parent[node] as number] as number[]).map((id) => ({
							id,
							value: Math.min(9, (total[id] as number) / Math.max(1, visits[id] as number) + 0.5),
						})),
					}),
		});
		const id = parent.length;
		const isFinal = (depth[node] as number) > 4 && random.next() < 0.25;
		const answer = isFinal ? (random.next() < 0.5 ? gold : String(40 + Math.floor(random.next() * 6))) : null;
		parent.push(node);
		depth.push((depth[node] as number) + 1);
		visits.push(0);
		total.push(0);
		children.push([]);
		(children[node] as number[]).push(id);
		at += 0.01;
		push({
			t: 'node',
			at,
			id,
			parents: [node],
			text: answer === null ? text() : `So the answer is ${answer}.\n`,
			role: answer === null ? 'thought' : 'answer',
			final: isFinal,
			answer,
			logprob: -random.next() * 8,
			prior: 0.2 + random.next() * 0.6,
			tokens: 5 + Math.floor(random.next() * 20),
			entropy: random.next() * 2,
		});
		if (answer !== null) {
			finals.push({ id, answer });
			const known = first.get(answer);
			if (known === undefined) first.set(answer, id);
			else if (random.next() < 0.2) push({ t: 'merge', at, id, into: known });
		}
		const value = answer === gold ? 0.7 + random.next() * 0.3 : random.next() * 0.7;
		push({ t: 'score', at, id, scorer: 'value', value });
		path.push(id);
		for (const each of path) {
			visits[each] = (visits[each] as number) + 1;
			total[each] = (total[each] as number) + value;
		}
		push({ t: 'visit', at, path, values: path.map(() => value) });
		if (random.next() < 0.02 && id > 10) push({ t: 'prune', at, id, reason: 'value below 0.2' });
	}
	if (!open) {
		const best = finals.find(({ answer }) => answer === gold)?.id ?? parent.length - 1;
		const path: number[] = [];
		for (let up = best; up !== -1; up = parent[up] as number) path.unshift(up);
		push({
			t: 'end',
			at: at + 1,
			best: path,
			answer: gold,
			value: 0.83,
			stop: 'nodes',
			tokens: nodes * 12,
			simulations: nodes,
			seconds: at + 1,
		});
	}
	return treeEvents(events);
}

/** Builds the graph of a Reflexion agent: draft, critique, parallel tools, revision, references. */
export function agentEvents(): TreeEvent[] {
	return treeEvents([
		{
			t: 'start',
			at: 0,
			format: 1,
			id: 'agent',
			strategy: 'reflexion',
			params: { rounds: 2 },
			problem: { prompt: 'How does DPO avoid a reward model?', answer: null },
			policy: { name: 'research', model: 'a model' },
			seed: 3,
			structure: 'graph',
		},
		{ t: 'node', at: 0, id: 0, parents: [], text: 'How does DPO avoid a reward model?', role: 'problem' },
		{
			t: 'node',
			at: 2,
			id: 1,
			parents: [0],
			text: 'DPO optimises the policy on preference pairs directly.',
			role: 'draft',
		},
		{ t: 'node', at: 3, id: 2, parents: [1], text: 'What is missing and what is too much.', role: 'critique' },
		{
			t: 'critique',
			at: 3,
			id: 2,
			missing: ['the closed form of the optimal policy', 'a citation'],
			superfluous: ['history of PPO'],
			addressed: [0, 2],
		},
		{
			t: 'node',
			at: 4,
			id: 3,
			parents: [2],
			text: 'direct preference optimization closed form',
			role: 'tool',
			label: 'search workspace',
		},
		{
			t: 'tool',
			at: 4.5,
			id: 3,
			name: 'search',
			arguments: { query: 'direct preference optimization closed form' },
			result: [{ title: 'DPO', url: 'papers/dpo.md' }],
			seconds: 0.4,
		},
		{ t: 'node', at: 4, id: 4, parents: [2], text: 'kl penalty dpo', role: 'tool', label: 'search workspace' },
		{
			t: 'tool',
			at: 4.7,
			id: 4,
			name: 'search',
			arguments: { query: 'kl penalty dpo' },
			error: 'nothing was found',
			seconds: 0.7,
		},
		{ t: 'node', at: 4, id: 5, parents: [2], text: '0.1 * log(2)', role: 'tool', label: 'calculator' },
		{
			t: 'tool',
			at: 4.1,
			id: 5,
			name: 'calculator',
			arguments: { expression: '0.1 * log(2)' },
			result: 0.0693,
			seconds: 0.01,
		},
		{
			t: 'node',
			at: 8,
			id: 6,
			parents: [1, 3, 4, 5],
			text: 'The reward is expressed through the policy itself [1], so that none has to be learned.',
			role: 'revision',
			final: true,
			answer: 'through the policy itself',
		},
		{ t: 'reference', at: 8.1, id: 6, label: '[1]', source: 'papers/dpo.md', evidence: 3, supported: true },
		{
			t: 'reference',
			at: 8.2,
			id: 6,
			label: '[2]',
			source: 'https://example.invalid/ppo',
			evidence: null,
			supported: false,
			note: 'no tool returned it',
		},
		{ t: 'score', at: 8.3, id: 6, scorer: 'judge', value: 0.8 },
		{
			t: 'end',
			at: 8.5,
			best: [0, 1, 6],
			answer: 'through the policy itself',
			value: 0.8,
			stop: 'complete',
			tokens: 812,
			seconds: 8.5,
		},
	]);
}
