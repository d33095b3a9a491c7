import { basename } from 'node:path';
import { goldText } from '../../core/dataset/answer.ts';
import { type SampledText, suggestSplit } from '../../core/search/suggestSplit.ts';
import { messageText } from '../../core/trace/messageText.ts';
import { readPolicyTemplate } from '../../policies/control/policyTemplate.ts';
import { type FormProblem, longestProblem, type PolicyFacts } from '../../protocol/newSearchMessages.ts';
import type { PolicySpec } from '../../protocol/policySpec.ts';
import { hasText, type RolloutLine } from '../../protocol/rolloutLine.ts';
import { openRun } from '../../runs/openRun.ts';
import type { RunContent } from '../../runs/runContent.ts';
import { stepOf } from '../../runs/runFiles.ts';
import { runOf } from '../panels/playground/describePolicy.ts';
import { problemOfRollout, withoutTemplate } from './problemOfRollout.ts';

/** Facts that a run records about its policies, except for the environment. */
type RunFacts = Omit<PolicyFacts, 'environment'>;

/** Maximum numbers of completions and problems to read. */
const [maxSamples, maxProblems] = [64, 32] as const;

const unknown: RunFacts = { problems: [], source: null, sample: null };

/**
 * Reads facts about a policy from its run: problems, and statistics of its completions at the checkpoint's step.
 * Policies without a run have no facts, nor do runs whose files were pruned.
 */
export async function policyFacts(policy: PolicySpec): Promise<RunFacts> {
	const run = runOf(policy);
	if (run === null) return unknown;
	const content = await openRun(run).catch(() => null);
	if (content === null) return unknown;
	const step = policy.kind === 'checkpoint' ? stepOf(basename(policy.folder)) : null;
	const reached = step ?? Number.POSITIVE_INFINITY;
	const { template } = await readPolicyTemplate(run);
	const sampled = await sampledRollouts(content, reached);
	const heldOut = await heldOutProblems(content, reached, template?.prompt);
	const problems = heldOut.length > 0 ? heldOut : await trainedProblems(run, sampled?.lines ?? []);
	return {
		problems,
		source: heldOut.length > 0 ? 'held-out' : problems.length > 0 ? 'training' : null,
		sample: sampled === null ? null : sampleOf(sampled, template ?? { think: null, answer: null }),
	};
}

interface Sampled {
	readonly step: number;
	readonly lines: readonly RolloutLine[];
}

/** Reads rollouts of the last step that the weights were trained on; null if none were kept. */
async function sampledRollouts(content: RunContent, reached: number): Promise<Sampled | null> {
	const steps = await content.steps();
	const step = steps.findLast((one) => one <= reached) ?? steps[0];
	const opened = step === undefined ? null : await content.open(step).catch(() => null);
	if (step === undefined || opened === null) return null;
	const lines: RolloutLine[] = [];
	try {
		for await (const { rollout } of opened.rollouts()) {
			if (rollout !== null && hasText(rollout)) lines.push(rollout);
			if (lines.length >= maxSamples) break;
		}
	} finally {
		await opened.close();
	}
	return lines.length === 0 ? null : { step, lines };
}

function sampleOf({ step, lines }: Sampled, tags: Parameters<typeof suggestSplit>[1]): PolicyFacts['sample'] {
	const texts = lines.map(({ completion, tokens, extra }): SampledText => {
		const length = tokens?.text.length ?? extra?.length;
		return { text: messageText(completion), tokens: typeof length === 'number' ? length : null };
	});
	const known = texts.flatMap(({ tokens }) => tokens ?? []);
	return {
		completions: lines.length,
		step,
		tokens: known.length === 0 ? null : known.reduce((sum, tokens) => sum + tokens, 0) / known.length,
		split: suggestSplit(texts, tags),
	};
}

/** Returns the distinct problems of the latest evaluation. */
async function heldOutProblems(
	content: RunContent,
	reached: number,
	template: string | undefined,
): Promise<FormProblem[]> {
	const evaluations = await content.evaluations().catch(() => []);
	const latest = evaluations.filter(({ step }) => step <= reached).at(-1) ?? evaluations.at(-1);
	if (latest === undefined) return [];
	const found = new Map<string, FormProblem>();
	for (const { prompt: given, answer } of await content.evaluationLines(latest.step, latest.name).catch(() => [])) {
		const prompt = withoutTemplate(messageText(given), template);
		add(found, { prompt, answer: goldText(answer), row: {} });
		if (found.size >= maxProblems) break;
	}
	return [...found.values()];
}

async function trainedProblems(run: string, lines: readonly RolloutLine[]): Promise<FormProblem[]> {
	const found = new Map<string, FormProblem>();
	for (const line of lines) {
		const problem = await problemOfRollout(run, line).catch(() => null);
		if (problem !== null) add(found, problem);
		if (found.size >= maxProblems) break;
	}
	return [...found.values()];
}

/** Adds a problem if the form can show it. */
function add(found: Map<string, FormProblem>, problem: FormProblem): void {
	const { prompt, answer } = problem;
	const fits = prompt.trim() !== '' && prompt.length <= longestProblem && (answer ?? '').length <= longestProblem;
	if (fits && !found.has(prompt)) found.set(prompt, problem);
}
