import { basename } from 'node:path';
import { Failure } from '../../base/failure.ts';
import type { Policy } from '../../core/search/policy.ts';
import type { ScoreItem } from '../../core/search/scorer.ts';
import type { ScorerSpec } from '../../protocol/searchSpec.ts';
import { aggregateValues } from './aggregateValues.ts';
import type { OpenScorer, ScorerContext } from './scorerContext.ts';

type HeadSpec = Extract<ScorerSpec, { use: 'value' | 'process' | 'reward-model' }>;

/** Heads, with the stage that trains each. */
const heads = {
	value: { head: 'value', stage: 'value-model' },
	process: { head: 'process', stage: 'process-reward-model' },
	'reward-model': { head: 'reward', stage: 'reward-model' },
} as const;

/** Maximum number of strings whose values are cached. Caching helps because steps share prefixes. */
const maxKnown = 50_000;

/**
 * Opens a head of an embedded model. The value head and the process head estimate the probability, from 0 to 1, that a
 * prefix leads to a correct answer. A reward model's score is passed through a sigmoid, which preserves the order. With
 * an aggregate other than `last`, the values after each step are combined into one.
 */
export async function openHeadScorer(
	spec: HeadSpec,
	context: ScorerContext,
	signal?: AbortSignal,
): Promise<OpenScorer> {
	const { search, policy: own } = context;
	const lease =
		spec.model === undefined
			? null
			: await search.pool.lease(
					{ kind: 'checkpoint', folder: spec.model },
					{ ...search.policies, ...(signal === undefined ? {} : { signal }) },
				);
	const policy = lease?.policy ?? own;
	const { head, stage } = heads[spec.use];
	if (!policy.capabilities.heads.includes(head)) {
		lease?.dispose();
		throw new Failure(
			'unsupported',
			`${policy.name} has no head "${head}".`,
			`Use a checkpoint from a run with a "${stage}" stage.`,
		);
	}
	const name = spec.model === undefined ? spec.use : `${spec.use} of ${basename(spec.model)}`;
	return {
		name,
		bind({ signal: ending }) {
			const bound = policy.bind({ signal: ending }) as Policy & Required<Pick<Policy, 'value'>>;
			const known = new Map<string, number>();
			return {
				name,
				scope: 'step',
				oracle: false,
				async score(items) {
					const texts = items.map((item) => (spec.aggregate === 'last' ? [item.completion] : prefixes(item)));
					const keyOf = (item: ScoreItem, text: string) => `${item.problem.prompt}\u0000${text}`;
					const open = new Map<string, { messages: { role: string; content: string }[]; completion: string }>();
					for (const [i, item] of items.entries()) {
						for (const text of texts[i] ?? []) {
							const key = keyOf(item, text);
							if (known.has(key)) continue;
							open.set(key, { messages: [{ role: 'user', content: item.problem.prompt }], completion: text });
						}
					}
					// Concurrent calls can evict cached values during the await.
					const wanted = items.flatMap((item, i) => (texts[i] ?? []).map((text) => keyOf(item, text)));
					const ready = new Map(wanted.map((key) => [key, known.get(key)]));
					const scored = await bound.value([...open.values()], head);
					const values = head === 'reward' ? scored.map((score) => 1 / (1 + Math.exp(-score))) : scored;
					for (const [k, key] of [...open.keys()].entries()) {
						known.set(key, values[k] as number);
						ready.set(key, values[k] as number);
					}
					if (known.size > maxKnown) known.clear();
					return items.map((item, i) => {
						const own = (texts[i] ?? []).map((text) => ready.get(keyOf(item, text)));
						return own.some((value) => value === undefined || !Number.isFinite(value))
							? null
							: aggregateValues(own as number[], spec.aggregate);
					});
				},
			};
		},
		dispose: () => lease?.dispose(),
	};
}

/**
 * Returns the completion's prefix up to the end of each step, or only the whole completion if the steps do not add up
 * to it.
 */
function prefixes({ completion, steps }: ScoreItem): string[] {
	if (steps.length < 2 || steps.join('') !== completion) return [completion];
	let text = '';
	return steps.map((step) => {
		text += step;
		return text;
	});
}
