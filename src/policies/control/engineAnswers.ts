import type { GenerateRequest, Generation, TokenDetail } from '../../core/search/policy.ts';
import type { ControlResult } from '../../protocol/control.ts';

type Completion = ControlResult<'policy/generate'>['completions'][number][number];

/** End of sequence as the embedded engine spells it; search shows it as an empty text. */
const endSymbols: ReadonlySet<string> = new Set(['<eos>', '<|endoftext|>', '<|im_end|>', '</s>', '<|eot_id|>']);

/** A completion of an engine as search wants it. */
export function generationOf(completion: Completion, request: GenerateRequest): Generation {
	const { tokens, text, truncated } = completion;
	const last = tokens?.text.at(-1);
	const ended = last !== undefined && endSymbols.has(last) && !text.endsWith(last);
	const stops = request.stop.filter((stop) => stop !== '');
	const stopped = !truncated && !ended && stops.length > 0 && tokens !== undefined;
	const finish = truncated ? 'length' : stopped ? 'stop' : 'end';
	const stopText = finish === 'stop' && stops.length === 1 ? stops[0] : undefined;
	return {
		text,
		finish,
		...(stopText === undefined ? {} : { stopText }),
		tokens: tokens?.text.length ?? Math.ceil(text.length / 4),
		promptTokens: null,
		logprob: tokens === undefined ? null : tokens.logprob.reduce((sum, one) => sum + one, 0),
		detail: request.tokens === 0 || tokens === undefined ? null : detailOf(tokens),
	};
}

function detailOf(tokens: NonNullable<Completion['tokens']>): TokenDetail {
	const plain = (text: string) => (endSymbols.has(text) ? '' : text);
	return { text: tokens.text.map(plain), logprob: tokens.logprob, entropy: tokens.entropy };
}
