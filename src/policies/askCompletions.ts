import { Failure } from '../base/failure.ts';
import type { GenerateRequest, Generation, Policy } from '../core/search/policy.ts';
import { joined } from '../core/search/readGeneration.ts';
import type { BindOptions, OpenPolicy } from './openedPolicy.ts';

/** A question to a policy, for a person who reads along. */
export interface Asked extends Omit<GenerateRequest, 'stop' | 'schema'> {
	/**
	 * Ask for a few tokens at a time, each portion continuing from all before it, so that what is written is seen while it is
	 * written, and cancelling ends it soon: for policies that continue from a beginning and do not stream.
	 */
	readonly portions: boolean;
	/** Characters of a completion at most. */
	readonly longest: number;
}

export interface AskedPart {
	/** Which completion. */
	readonly index: number;
	/** What was added. */
	readonly text: string;
	/** How it was generated; null: nothing is told before its end. */
	readonly generation: Generation | null;
}

/** A completion without the prefix. `context`: its context is full; `cut`: it has come to the limit of characters. */
export interface Answered extends Omit<Generation, 'finish'> {
	readonly finish: Generation['finish'] | 'context' | 'cut';
}

/** Tokens of the first portion and of the longest: the first words come soon, and long texts cost few requests. */
const shortest = 16;
const longest = 256;
/** So far apart that the seeds of completions and of their portions differ. */
const sampleStep = 0x1e3779b1;
const portionStep = 0x2545f491;

/**
 * Asks a policy for `n` completions. Fails with what the policy fails with where there is no completion at all, and with
 * `cancelled`; what came before is then known by `onPart`.
 */
export async function askCompletions(
	open: OpenPolicy,
	asked: Asked,
	{ onPart, ...options }: Omit<BindOptions, 'onText'> & { readonly onPart: (part: AskedPart) => void },
): Promise<Answered[]> {
	if (asked.portions) return inPortions(open.bind(options), asked, onPart);
	const policy = open.bind({ ...options, onText: ({ index, text }) => onPart({ index, text, generation: null }) });
	const { portions: _, longest: most, ...request } = asked;
	const [made] = await policy.generate([{ ...request, stop: [] }]);
	if (made === undefined || made instanceof Failure)
		throw made ?? new Failure('internal', `${open.name} did not respond.`);
	if (made.length === 0) throw new Failure('unavailable', `${open.name} returned no completion.`, 'Try again.');
	return made.map((one) => (one.text.length <= most ? one : { ...one, text: one.text.slice(0, most), finish: 'cut' }));
}

interface Draft {
	made: Generation | null;
	finish: Answered['finish'] | null;
	left: number;
}

/** As `continueText` (src/runs/continuation.ts), for several completions and with what is told of their tokens. */
async function inPortions(policy: Policy, asked: Asked, onPart: (part: AskedPart) => void): Promise<Answered[]> {
	const { portions: _, longest: most, n, seed, maxTokens, ...shared } = asked;
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
				// What there is, is kept; nothing at all is a failure.
				if (draft.made === null) throw part ?? new Failure('internal', `${policy.name} did not respond.`);
				draft.finish = 'context';
				continue;
			}
			const wanted = (requests[k] as GenerateRequest).maxTokens;
			if (draft.made !== null && part.tokens === 0) {
				// Of nothing nothing is told: what was told before holds.
				draft.finish = part.finish === 'length' ? 'context' : part.finish;
				continue;
			}
			const told = draft.made?.promptTokens ?? part.promptTokens;
			draft.made = draft.made === null ? part : { ...joined(draft.made, part), promptTokens: told };
			draft.left -= Math.max(1, part.tokens);
			onPart({ index, text: part.text, generation: part });
			if (draft.made.text.length > most) draft.finish = 'cut';
			else if (part.finish !== 'length') draft.finish = part.finish;
			// Fewer than it may: its context is full.
			else if (part.tokens < wanted) draft.finish = 'context';
			else if (draft.left <= 0) draft.finish = 'length';
		}
	}
	return drafts.map(({ made, finish }) => {
		const whole = made as Generation;
		return { ...whole, text: whole.text.slice(0, most), finish: finish as Answered['finish'] };
	});
}
