import type { GenerateRequest, Generation, TokenDetail } from '../../core/search/policy.ts';
import type { ControlResult, TokenLists } from '../../protocol/control.ts';

type Completion = ControlResult<'policy/generate'>['completions'][number][number];

/** End-of-sequence spellings used by engines. They become empty text in token details. */
const endSymbols: ReadonlySet<string> = new Set(['<eos>', '<|endoftext|>', '<|im_end|>', '</s>', '<|eot_id|>']);

/**
 * Converts an engine's completion for search. Older engines do not report a finish reason, so it is inferred: `length`
 * if truncated, `end` if the last token is an end-of-sequence token, and otherwise `stop`.
 */
export function generationOf(
	completion: Completion,
	request: Pick<GenerateRequest, 'stop' | 'tokens'>,
	promptTokens: number | null,
): Generation {
	const { tokens, text, truncated, thoughts } = completion;
	const finish = completion.finish ?? (truncated ? 'length' : stoppedEarly(completion, request) ? 'stop' : 'end');
	const stops = request.stop.filter((stop) => stop !== '');
	const stopText = finish !== 'stop' ? undefined : (completion.stopText ?? (stops.length === 1 ? stops[0] : undefined));
	return {
		text,
		finish,
		...(stopText === undefined ? {} : { stopText }),
		tokens: completion.generated ?? tokens?.text.length ?? Math.ceil(text.length / 4),
		promptTokens,
		logprob: completion.logprob ?? tokens?.logprob.reduce((sum, one) => sum + one, 0) ?? null,
		detail: request.tokens === 0 || tokens === undefined ? null : detailOf(tokens, request.tokens),
		...(thoughts === undefined ? {} : { thoughts }),
	};
}

function stoppedEarly({ tokens }: Completion, { stop }: Pick<GenerateRequest, 'stop'>): boolean {
	const last = tokens?.text.at(-1);
	return stop.some((text) => text !== '') && (last === undefined || !endSymbols.has(last));
}

const plain = (text: string) => (endSymbols.has(text) ? '' : text);

function detailOf(tokens: TokenLists, wanted: number): TokenDetail {
	const { text, logprob, entropy, varentropy, gini, variance, top } = tokens;
	return {
		text: text.map(plain),
		logprob,
		entropy,
		...(varentropy === undefined ? {} : { varentropy }),
		...(gini === undefined ? {} : { gini }),
		...(variance === undefined ? {} : { variance }),
		...(top === undefined
			? {}
			: { top: top.map((ones) => ones.slice(0, wanted).map(([other, p]) => [plain(other), p] as const)) }),
	};
}
