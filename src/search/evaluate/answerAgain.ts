import { Failure } from '../../base/failure.ts';
import { Random } from '../../base/random.ts';
import type { GenerateRequest, Policy } from '../../core/search/policy.ts';
import { statedIn } from '../../core/search/statedIn.ts';
import { parseTrace } from '../../core/trace/parseTrace.ts';
import { type PerturbationKind, perturbTrace } from '../../core/trace/perturb.ts';
import type { TraceTags } from '../../core/trace/trace.ts';
import type { OpenPolicy } from '../../policies/openedPolicy.ts';
import type { EvaluationSpec } from '../../protocol/evaluationFolder.ts';
import { tokenLimit } from '../openSearch.ts';

/** A completion that the policy finished after its thinking was perturbed and closed. */
export interface AnsweredAgain {
	readonly completion: string;
	readonly answer: string | null;
	/** Number of tokens after the perturbed thinking. */
	readonly tokens: number;
	readonly truncated: boolean;
}

/** Has a policy answer a prompt again. A failure affects only this completion. */
export type AnswerAgain = (
	prompt: string,
	completion: string,
	/** Selects the random streams for the perturbation and the answer. */
	stream: readonly (string | number)[],
	signal?: AbortSignal,
) => Promise<AnsweredAgain | null | Failure>;

/** Returns a completion up to the end of its perturbed thinking; null if there is nothing to perturb. */
export function perturbedThinking(
	completion: string,
	kind: PerturbationKind,
	tags: TraceTags,
	random: Random,
): string | null {
	const perturbed = perturbTrace(completion, { kind, share: 1 }, { tags, random });
	if (perturbed === null || tags.think === null) return null;
	const span = parseTrace(perturbed, tags).thinkSpan;
	return span === null ? null : perturbed.slice(0, span.end) + tags.think[1];
}

/**
 * Returns a function that perturbs the thinking of a completion and has the policy answer from there, or returns null
 * if there is nothing to perturb. Truncated thinking is closed as well, so its answer may be better than before. Throws
 * `unsupported` if the policy cannot continue from a prefix or has no tags around its thinking.
 */
export function answersAgain(
	policy: OpenPolicy,
	{ perturb, sampling, seed }: EvaluationSpec,
	tags: TraceTags,
): AnswerAgain | null {
	if (perturb === undefined) return null;
	if (!policy.capabilities.prefix || tags.think === null) {
		const lacks = tags.think === null ? 'has no tags around its thinking' : 'cannot continue from a prefix';
		throw new Failure(
			'unsupported',
			`${policy.name} ${lacks}, so it cannot answer again after its thinking is perturbed.`,
			'Remove "perturb".',
		);
	}
	return async (prompt, completion, stream, signal = new AbortController().signal) => {
		const prefix = perturbedThinking(completion, perturb, tags, Random.of(seed, 'perturb', ...stream));
		if (prefix === null) return null;
		const bound: Policy = policy.bind({ signal });
		const request: GenerateRequest = {
			messages: [{ role: 'user', content: prompt }],
			prefix,
			n: 1,
			temperature: sampling.temperature,
			topP: sampling.topP,
			maxTokens: sampling.maxTokens ?? tokenLimit(policy.context),
			stop: [],
			seed: Random.of(seed, 'again', ...stream).uint32(),
			tokens: 0,
		};
		const [made] = await bound.generate([request]);
		if (made instanceof Failure) return made;
		const [one] = made ?? [];
		if (one === undefined) return new Failure('unavailable', `${policy.name} returned no completion.`, 'Try again.');
		const whole = prefix + one.text;
		return {
			completion: whole,
			answer: statedIn(whole, tags),
			tokens: one.tokens,
			truncated: one.finish === 'length',
		};
	};
}
