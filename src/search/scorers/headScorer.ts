import { basename } from 'node:path';
import { Failure } from '../../base/failure.ts';
import type { Policy } from '../../core/search/policy.ts';
import type { ScoreItem } from '../../core/search/scorer.ts';
import type { ScorerSpec } from '../../protocol/searchSpec.ts';
import { aggregateValues } from './aggregateValues.ts';
import type { OpenScorer, ScorerContext } from './scorerContext.ts';

type HeadSpec = Extract<ScorerSpec, { use: 'value' | 'process' | 'reward-model' }>;

/** Head and stage that trains it. */
const heads = {
	value: { head: 'value', stage: 'value-model' },
	process: { head: 'process', stage: 'process-reward-model' },
	'reward-model': { head: 'reward', stage: 'reward-model' },
} as const;

/** Texts whose values are remembered: steps share their beginnings. */
const maxKnown = 50_000;

/**
 * A head of an embedded model. The value head and that for steps say how likely a beginning comes to a right answer, 0..1;
 * a reward model gives its score, as a sigmoid, which keeps the order. With an aggregate other than `last`, the values after
 * each step become one.
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
			`Use a checkpoint of a run with a stage of type "${stage}".`,
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
					const texts = items.map((item) => (spec.aggregate === 'last' ? [item.completion] : beginnings(item)));
					const keyOf = (item: ScoreItem, text: string) => `${item.problem.prompt}\u0000${text}`;
					const open = new Map<string, { messages: { role: string; content: string }[]; completion: string }>();
					for (const [i, item] of items.entries()) {
						for (const text of texts[i] ?? []) {
							const key = keyOf(item, text);
							if (known.has(key)) continue;
							open.set(key, { messages: [{ role: 'user', content: item.problem.prompt }], completion: text });
						}
					}
					// Others may forget what is known while this waits.
					const wanted = items.flatMap((item, i) => (texts[i] ?? []).map((text) => keyOf(item, text)));
					const ready = new Map(wanted.map((key) => [key, known.get(key)]));
					const told = await bound.value([...open.values()], head);
					const values = head === 'reward' ? told.map((score) => 1 / (1 + Math.exp(-score))) : told;
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

/** A completion after each of its steps; only as a whole where its steps are not what it consists of. */
function beginnings({ completion, steps }: ScoreItem): string[] {
	if (steps.length < 2 || steps.join('') !== completion) return [completion];
	let text = '';
	return steps.map((step) => {
		text += step;
		return text;
	});
}
