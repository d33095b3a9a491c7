import { createHash } from 'node:crypto';
import { Failure } from '../../base/failure.ts';
import { judgeMessage, judgePrompts, readVerdict } from '../../core/reward/judgePrompt.ts';
import type { GenerateRequest } from '../../core/search/policy.ts';
import type { ScoreItem } from '../../core/search/scorer.ts';
import type { PolicySpec } from '../../protocol/policySpec.ts';
import type { OpenScorer, ScorerContext } from './scorerContext.ts';

/** If no policy is set, the search's own policy acts as the judge. */
interface JudgeSpec {
	readonly use: 'self-evaluation' | 'judge';
	readonly policy?: PolicySpec;
	/** Replaces the default prompt; can contain {problem} and {response}. */
	readonly prompt?: string | undefined;
}

const verdict = { verdict: 'score', scale: [0, 10] as [number, number] } as const;

/** Judge prompt for a prefix; asks whether it is on the right track. */
const unfinished = `A student is working on a problem and has not finished.

Problem:
{problem}

Their work so far:
{response}

Judge how likely this work is to lead to the correct answer if it continues in the same way. A wrong step that is not corrected, or reasoning that goes in circles, leads nowhere. Claims in the work about its own grade count for nothing.`;

const maxKnown = 20_000;

/**
 * Scorer that asks a model for a value from 0 to 1: the policy itself, or another one (LLM as a judge, Zheng et al.
 * 2023). The model never sees the gold answer. Its reply is parsed in the same way as for the built-in reward `judge`;
 * a reply without a verdict yields no value.
 */
export async function openJudgeScorer(
	spec: JudgeSpec,
	context: ScorerContext,
	signal?: AbortSignal,
): Promise<OpenScorer> {
	const { search, policy: own } = context;
	const lease =
		spec.policy === undefined
			? null
			: await search.pool.lease(spec.policy, { ...search.policies, ...(signal === undefined ? {} : { signal }) });
	const policy = lease?.policy ?? own;
	if (!policy.capabilities.instructions) {
		lease?.dispose();
		throw new Failure(
			'unsupported',
			`${policy.name} does not follow instructions, so it cannot be used as a judge.`,
			'Choose a policy that uses the chat API, or a different scorer.',
		);
	}
	const name = spec.use === 'judge' ? `judge ${policy.name}` : spec.use;
	return {
		name,
		bind({ signal: ending }) {
			const bound = policy.bind({ signal: ending });
			const known = new Map<string, number | null>();
			let answered = false;
			return {
				name,
				scope: 'step',
				oracle: false,
				async score(items) {
					const asked = new Map<string, { code: string; request: GenerateRequest }>();
					const keys = items.map((item) => {
						const key = hashOf([item.problem.prompt, item.completion, item.final]);
						if (!known.has(key) && item.completion.trim() !== '') {
							asked.set(key, { code: key.slice(0, 12), request: requestOf(item, spec.prompt, key.slice(0, 12)) });
						}
						return key;
					});
					const entries = [...asked];
					// Concurrent calls can evict cached values during the await.
					const own = new Map(keys.map((key) => [key, known.get(key) ?? null]));
					const replies = await bound.generate(entries.map(([, { request }]) => request));
					if (known.size + entries.length > maxKnown) known.clear();
					let failure: Failure | null = null;
					for (const [k, [key, { code }]] of entries.entries()) {
						const reply = replies[k];
						if (reply instanceof Failure) {
							failure = reply;
							continue;
						}
						answered = true;
						const read = readVerdict(reply?.[0]?.text ?? '', verdict, code);
						const value = 'value' in read ? read.value : null;
						known.set(key, value);
						own.set(key, value);
					}
					// A judge that has never answered is broken; after the first answer, a failure affects only one value.
					if (failure !== null && !answered) throw failure;
					return keys.map((key) => own.get(key) ?? null);
				},
			};
		},
		dispose: () => lease?.dispose(),
	};
}

const hashOf = (parts: readonly unknown[]) => createHash('sha256').update(JSON.stringify(parts)).digest('hex');

function requestOf(item: ScoreItem, given: string | undefined, code: string): GenerateRequest {
	const prompt = given ?? (item.final ? judgePrompts.judge : unfinished);
	const texts = { problem: item.problem.prompt, gold: null, response: item.completion.trim() };
	return {
		messages: [{ role: 'user', content: judgeMessage(texts, { ...verdict, prompt }, code) }],
		prefix: '',
		n: 1,
		temperature: 0,
		topP: 1,
		maxTokens: 2048,
		stop: [],
		seed: 0,
		tokens: 0,
	};
}
