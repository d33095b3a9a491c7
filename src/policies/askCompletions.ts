import { Failure } from '../base/failure.ts';
import type { GenerateRequest, Generation, Policy } from '../core/search/policy.ts';
import { joined } from '../core/search/readGeneration.ts';
import type { BindOptions, OpenPolicy } from './openedPolicy.ts';

/** Request to a policy with live output for the user. */
export interface Asked extends Omit<GenerateRequest, 'stop' | 'schema'> {
	/**
	 * Whether to generate a few tokens at a time, with each portion continuing from the previous ones, so that output
	 * appears as it is written and cancellation takes effect quickly. Used for policies that can continue from a prefix
	 * but do not stream.
	 */
	readonly portions: boolean;
	/** Maximum number of characters per completion. */
	readonly longest: number;
}

export interface AskedPart {
	/** Completion index. */
	readonly index: number;
	/** Added text. */
	readonly text: string;
	/** Generation details, or null if they are only known at the end. */
	readonly generation: Generation | null;
}

/**
 * Completion without the prefix. Finish reason `context`: the context is full; `cut`: the character limit was reached.
 */
export interface Answered extends Omit<Generation, 'finish'> {
	readonly finish: Generation['finish'] | 'context' | 'cut';
}

/**
 * Token counts of the first and the largest portion. A small first portion gives quick feedback, and larger later
 * portions need fewer requests.
 */
const shortest = 16;
const longest = 256;
/** Seed increments, chosen so that seeds of completions and their portions do not collide. */
const sampleStep = 0x1e3779b1;
const portionStep = 0x2545f491;

/**
 * Requests `n` completions from a policy. Fails with `cancelled`, or with the policy's failure if there are no
 * completions. Text generated before the failure has already been passed to `onPart`.
 */
export async function askCompletions(
	open: OpenPolicy,
	asked: Asked,
	{ onPart, ...options }: Omit<BindOptions, 'onText'> & { readonly onPart: (part: AskedPart) => void },
): Promise<Answered[]> {
	if (asked.portions) return inPortions(open.bind(options), asked, onPart);
	const policy = open.bind({ ...options, onText: ({ index, text }) => onPart({ index, text, generation: null }) });
	const { portions: _, longest: limit, ...request } = asked;
	const [made] = await policy.generate([{ ...request, stop: [] }]);
	if (made === undefined || made instanceof Failure)
		throw made ?? new Failure('internal', `${open.name} did not respond.`);
	if (made.length === 0) throw new Failure('unavailable', `${open.name} returned no completion.`, 'Try again.');
	return made.map((one) =>
		one.text.length <= limit ? one : { ...one, text: one.text.slice(0, limit), finish: 'cut' },
	);
}

interface Draft {
	made: Generation | null;
	finish: Answered['finish'] | null;
	left: number;
}

/** Like `continueText` (src/runs/continuation.ts), but for several completions and with token details. */
async function inPortions(policy: Policy, asked: Asked, onPart: (part: AskedPart) => void): Promise<Answered[]> {
	const { portions: _, longest: limit, n, seed, maxTokens, ...shared } = asked;
	const drafts = Array.from({ length: n }, (): Draft => ({ made: null, finish: null, left: maxTokens }));
	for (let portion = 0, size = shortest; ; portion++, size = Math.min(longest, size * 2)) {
		const open = [...drafts.keys()].filter((index) => (drafts[index] as Draft).finish === null);
		if (open.length === 0) break;
		const requests = open.map((index): GenerateRequest => {
			const { made, left } = drafts[index] as Draft;
			return {
				...shared,
				prefix: asked.prefix + (made?.text ?? ''),
				n: 1,
				maxTokens: Math.min(size, left),
				stop: [],
				seed: (seed + index * sampleStep + portion * portionStep) % 2 ** 31,
			};
		});
		const answers = await policy.generate(requests);
		for (const [k, index] of open.entries()) {
			const draft = drafts[index] as Draft;
			const answer = answers[k];
			const part = answer instanceof Failure ? answer : answer?.[0];
			if (part === undefined || part instanceof Failure) {
				// Keep partial output. Fail only if there is none.
				if (draft.made === null) throw part ?? new Failure('internal', `${policy.name} did not respond.`);
				draft.finish = 'context';
				continue;
			}
			const wanted = (requests[k] as GenerateRequest).maxTokens;
			if (draft.made !== null && part.tokens === 0) {
				// An empty portion has no details, so keep the previous ones.
				draft.finish = part.finish === 'length' ? 'context' : part.finish;
				continue;
			}
			const promptTokens = draft.made?.promptTokens ?? part.promptTokens;
			draft.made = draft.made === null ? part : { ...joined(draft.made, part), promptTokens: promptTokens };
			draft.left -= Math.max(1, part.tokens);
			onPart({ index, text: part.text, generation: part });
			if (draft.made.text.length > limit) draft.finish = 'cut';
			else if (part.finish !== 'length') draft.finish = part.finish;
			// Fewer tokens than requested means that the context is full.
			else if (part.tokens < wanted) draft.finish = 'context';
			else if (draft.left <= 0) draft.finish = 'length';
		}
	}
	return drafts.map(({ made, finish }) => {
		const whole = made as Generation;
		return { ...whole, text: whole.text.slice(0, limit), finish: finish as Answered['finish'] };
	});
}
