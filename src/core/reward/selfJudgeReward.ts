import type { RewardEntry } from '../../protocol/recipeKeys/builtInRewards.ts';
import { parseTrace, soleAnswer } from '../trace/parseTrace.ts';
import type { TraceTags } from '../trace/trace.ts';

/**
 * The policy as the judge of its own answers (Yuan et al. 2024, "Self-rewarding language models", arXiv:2401.10020,
 * section 2). There, the judge scores against a rubric; here, it only accepts or rejects, which small models can do.
 */
type SelfJudge = Pick<RewardEntry<'self-judge'>, 'prompt' | 'accept'>;

/**
 * Returns the problem that asks for a verdict on a completion, or null if the completion has no answer to judge. Both
 * texts are inserted in one pass, so placeholders in them have no effect.
 */
export function verdictProblem(
	{ prompt }: SelfJudge,
	problem: string,
	completion: string,
	tags: TraceTags,
): string | null {
	const response = soleAnswer(parseTrace(completion, tags), tags);
	if (response === null) return null;
	const texts: Readonly<Record<string, string>> = { problem, response };
	return prompt.replace(/\{(problem|response)\}/g, (_, name: string) => texts[name] as string);
}

/** Returns the fraction of verdicts that accept. A verdict without an answer counts as a rejection. */
export function selfJudgeReward({ accept }: SelfJudge, verdicts: readonly string[], tags: TraceTags): number {
	const accepted = verdicts.filter((verdict) => soleAnswer(parseTrace(verdict, tags), tags)?.trim() === accept);
	return accepted.length / verdicts.length;
}
