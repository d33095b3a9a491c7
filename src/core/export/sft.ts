import type { Random } from '../../base/random.ts';
import type { Message, RolloutLine } from '../../protocol/rolloutLine.ts';
import { goldText } from '../dataset/answer.ts';
import { exactVerifier } from '../reward/accuracyReward.ts';
import { wrongAnswers } from '../reward/verification/wrongAnswers.ts';
import { parseTrace, soleAnswer } from '../trace/parseTrace.ts';
import { type Perturbation, perturbTrace } from '../trace/perturb.ts';
import type { TraceTags } from '../trace/trace.ts';
import { asMessages, asTexts, type TextForm } from './textForms.ts';

/**
 * A line of SFT data: either TRL's prompt-completion type (standard or conversational) or, with `messages`, its
 * conversational language-modeling type. The latter also trains on the prompt unless the trainer is configured
 * otherwise.
 */
export type SftExample =
	| { readonly prompt: string; readonly completion: string }
	| { readonly prompt: readonly Message[]; readonly completion: readonly Message[] }
	| { readonly messages: readonly Message[] };

export interface SftOptions {
	readonly form: TextForm | 'messages';
	readonly perturb?: {
		readonly perturbation: Perturbation;
		readonly tags: TraceTags;
		readonly random: Random;
		/** Steps taken from other rollouts. */
		readonly donors: readonly string[];
	};
}

/** Returns the example for a rollout, or the reason why there is none ("whose completion is empty"). */
export function sftExample(line: RolloutLine, { form, perturb }: SftOptions): SftExample | string {
	const source = perturb === undefined ? line : perturbed(line, perturb);
	if (typeof source === 'string') return source;
	if (form === 'standard') {
		const texts = asTexts(source);
		if (typeof texts === 'string') return texts;
		return texts.completion.trim() === '' ? 'whose completion is empty' : texts;
	}
	const messages = asMessages(source);
	if (typeof messages === 'string') return messages;
	if (form === 'conversational') return messages;
	return { messages: [...messages.prompt, ...messages.completion] };
}

function perturbed(line: RolloutLine, perturb: NonNullable<SftOptions['perturb']>): RolloutLine | string {
	const { perturbation, tags, random, donors } = perturb;
	const message = typeof line.completion === 'string' ? null : line.completion.at(-1);
	if (typeof line.completion !== 'string' && (line.completion.length > 1 || message?.role !== 'assistant')) {
		return 'whose completion has several messages and cannot be perturbed';
	}
	const text = typeof line.completion === 'string' ? line.completion : (message?.content ?? '');
	const changed = perturbTrace(text, perturbation, {
		tags,
		random,
		donors,
		...(perturbation.kind === 'wrong-answer' ? { wrongAnswer: wrongAnswer(line, text, tags, random) } : {}),
	});
	if (changed === null) return `that ${perturbation.kind} cannot change`;
	return { ...line, completion: message ? [{ ...message, content: changed }] : changed };
}

/** Derives an answer that is certain to be wrong from the gold answer or the stated one. */
function wrongAnswer(line: RolloutLine, completion: string, tags: TraceTags, random: Random): string | null {
	const given = soleAnswer(parseTrace(completion, tags), tags);
	const answer = goldText(line.answer) ?? given;
	const prompt = typeof line.prompt === 'string' ? line.prompt : '';
	const made = wrongAnswers({ answer, row: {} }, { verify: exactVerifier, prompt, others: [], random, count: 3 });
	return made.find((one) => one.answer !== '' && one.answer !== given)?.answer ?? null;
}
