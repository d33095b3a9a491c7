import { mix32 } from '../../src/base/random.ts';
import type { GenerateRequest, Generation, Policy } from '../../src/core/search/policy.ts';
import { Replay } from '../../src/core/search/replay.ts';
import type { ScoreItem, Scorer } from '../../src/core/search/scorer.ts';
import type { TreeEvent } from '../../src/protocol/treeLog.ts';
import { runSearch } from '../support/runSearch.ts';
import type { Bench, Measurement } from './measurement.ts';

const names = Array.from({ length: 8 }, (_, i) => `step ${i}\n`);
const depth = 8;
const many = 100_000;
const few = 20_000;
/** Rewrites a request so that it is never at the last step. */
const withoutEnd = (request: GenerateRequest): GenerateRequest => ({ ...request, prefix: '' });

/** Proposes four of eight steps at each node; the eighth step states an answer. */
const policy: Policy = {
	name: 'scripted',
	capabilities: {
		logprobs: true,
		alternatives: 0,
		distribution: false,
		prefix: true,
		seed: true,
		instructions: false,
		score: false,
		heads: [],
	},
	async generate(requests: readonly GenerateRequest[]) {
		return requests.map(({ prefix, seed, n }) => {
			const last = prefix.length >= (depth - 1) * (names[0] as string).length;
			return Array.from(
				{ length: n },
				(_, i): Generation => ({
					text: last ? `<answer>${(seed + i) % 9}</answer>` : (names[(mix32(seed) + i) % names.length] as string),
					finish: last ? 'end' : 'stop',
					tokens: 4,
					promptTokens: 10,
					logprob: -1 - i,
					detail: null,
				}),
			);
		});
	},
};

const scorer: Scorer = {
	name: 'value',
	scope: 'step',
	oracle: false,
	score: async (items: readonly ScoreItem[]) =>
		items.map(
			({ completion }) => mix32(completion.length * 31 + completion.charCodeAt(completion.length - 2)) / 2 ** 32,
		),
};

async function search(concurrency: number, onEvent: (event: TreeEvent) => void, ends = true): Promise<number> {
	const simulations = ends ? many : few;
	const began = performance.now();
	await runSearch({
		strategy: 'mcts',
		params: { simulations, expansions: 4 },
		problem: { prompt: 'What is it?', answer: null, row: {} },
		policy: ends ? policy : { ...policy, generate: async (requests) => policy.generate(requests.map(withoutEnd)) },
		guide: scorer,
		now: () => performance.now(),
		concurrency,
		onEvent,
	});
	return (1000 * simulations) / (performance.now() - began);
}

/** Speed of the search itself, with a policy and a scorer that cost nothing, and of replaying its log. */
export const bench: Bench = {
	title: 'Monte-Carlo tree search with a scripted policy, and replay of its log',
	async run({ rounds }) {
		const nothing = () => undefined;
		await search(1, nothing);
		const one: number[] = [];
		const sixteen: number[] = [];
		const growing: number[] = [];
		for (let i = 0; i < rounds; i++) {
			one.push(await search(1, nothing));
			sixteen.push(await search(16, nothing));
			growing.push(await search(16, nothing, false));
		}
		const events: TreeEvent[] = [];
		await search(1, (event) => {
			if (events.length < 50_000) events.push(event);
		});
		const slowest: number[] = [];
		const median: number[] = [];
		for (let i = 0; i < rounds; i++) {
			const replay = new Replay(events);
			const times = Array.from({ length: 100 }, (_, k) => {
				// The first replay covers the whole log; the others jump around, like dragging a slider.
				const moment = k === 0 ? events.length : mix32(k) % events.length;
				const began = performance.now();
				replay.treeAt(moment);
				return performance.now() - began;
			});
			slowest.push(Math.max(...times));
			median.push(times.sort((a, b) => a - b)[50] as number);
		}
		const measured = (name: string, unit: string, samples: number[]): Measurement => ({ name, unit, samples });
		return [
			measured('search: MCTS, one at a time', 'simulations/s', one),
			measured('search: MCTS, 16 concurrent', 'simulations/s', sixteen),
			measured('search: MCTS, 16 concurrent, unlimited new nodes', 'simulations/s', growing),
			measured('search: replay to any of 50,000 events, max', 'ms', slowest),
			measured('search: replay to any of 50,000 events, median', 'ms', median),
		];
	},
};
