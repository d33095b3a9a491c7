import { Failure } from '../../base/failure.ts';
import {
	type Exchange,
	longestCompletion,
	maxDetails,
	type PlaygroundBranch,
	type PlaygroundSample,
	type PlaygroundTokens,
} from '../../protocol/playgroundMessages.ts';
import type { TokenDetail } from '../search/policy.ts';

/** Returns token details as kept for display: rounded, and limited to the tokens shown. */
export function keptTokens(detail: TokenDetail | null, limit = maxDetails): PlaygroundTokens | null {
	if (detail === null) return null;
	const finite = (value: number | null | undefined) =>
		typeof value === 'number' && Number.isFinite(value) ? value : null;
	const { text, logprob, entropy, top, partial } = detail;
	return {
		text: text.slice(0, limit),
		logprob: text.slice(0, limit).map((_, i) => finite(logprob[i])),
		...(entropy === undefined ? {} : { entropy: entropy.slice(0, limit).map(finite) }),
		...(top === undefined
			? {}
			: {
					top: text
						.slice(0, limit)
						.map((_, i) =>
							(top[i] ?? []).flatMap(([word, p]): [string, number][] => (Number.isFinite(p) ? [[word, p]] : [])),
						),
				}),
		...(partial === true ? { partial } : {}),
	};
}

/** Returns the reason a different token cannot be chosen in a completion, or null if one can. */
export function whyNoBranch(
	sample: Pick<PlaygroundSample, 'text' | 'given' | 'detail'>,
	goesOn: boolean,
): string | null {
	if (!goesOn) return 'This policy cannot continue from a prefix, so you cannot choose a different token.';
	if (sample.detail === null) return 'The tokens in this completion were not recorded.';
	return beginsLike(sample) === null
		? 'The recorded tokens do not match the text, so you cannot choose a different token.'
		: null;
}

/** Returns the offset of the first recorded token in the text, or null if the tokens do not match the text. */
function beginsLike({ text, detail }: Pick<PlaygroundSample, 'text' | 'detail'>): number | null {
	const joined = (detail?.text ?? []).join('');
	return text.startsWith(joined) || joined.startsWith(text) ? 0 : null;
}

/** The prefix to continue from: a completion up to some token, followed by a different token, with token details. */
export interface BranchPrefix {
	readonly branch: PlaygroundBranch;
	readonly prefix: string;
	readonly detail: PlaygroundTokens;
}

/** Throws `missing` if the token does not exist, and `unsupported` if the policy cannot continue from it. */
export function prefixAt(
	exchange: Exchange,
	place: { readonly side: number; readonly sample: number; readonly token: number },
	text: string,
): BranchPrefix {
	const side = exchange.sides[place.side];
	const sample = side?.samples[place.sample];
	const taken = sample?.detail?.text[place.token];
	if (side === undefined || sample === undefined || sample.detail === null || taken === undefined) {
		throw new Failure('missing', 'The token does not exist in this completion.', 'Sample the completion again.');
	}
	const why = whyNoBranch(sample, side.can.prefix);
	if (why !== null) throw new Failure('unsupported', why, 'Choose a policy that supports it.');
	const { detail } = sample;
	const prefix = detail.text.slice(0, place.token).join('') + text;
	if (prefix.length > longestCompletion) {
		throw new Failure('invalid', 'The prefix is too long to continue from.', 'Choose an earlier token.');
	}
	return {
		branch: {
			exchange: exchange.id,
			side: place.side,
			sample: place.sample,
			token: place.token,
			from: taken,
			to: text,
		},
		prefix,
		detail: withToken(detail, place.token, text),
	};
}

function withToken(detail: PlaygroundTokens, token: number, text: string): PlaygroundTokens {
	const { logprob, entropy, top, partial } = detail;
	const chosen = top?.[token]?.find(([word]) => word === text)?.[1] ?? null;
	return {
		text: [...detail.text.slice(0, token), text],
		logprob: [...logprob.slice(0, token), chosen],
		...(entropy === undefined ? {} : { entropy: entropy.slice(0, token + 1) }),
		...(top === undefined ? {} : { top: top.slice(0, token + 1) }),
		...(partial === true ? { partial } : {}),
	};
}

/** Joins the tokens of a prefix and its continuation. Returns null if both are unknown. */
export function joinedTokens(
	before: PlaygroundTokens | null,
	after: PlaygroundTokens | null,
	limit = maxDetails,
): PlaygroundTokens | null {
	if (before === null || after === null) return after ?? before;
	const padded = <T>(list: readonly T[] | undefined, length: number, empty: T): T[] =>
		Array.from({ length }, (_, i) => list?.[i] ?? empty);
	const [a, b] = [before.text.length, Math.max(0, Math.min(after.text.length, limit - before.text.length))];
	const both = <T>(x: readonly T[] | undefined, y: readonly T[] | undefined, empty: T): T[] => [
		...padded(x, a, empty),
		...padded(y, b, empty),
	];
	const partial = before.partial === true || after.partial === true;
	return {
		text: both(before.text, after.text, ''),
		logprob: both<number | null>(before.logprob, after.logprob, null),
		...(before.entropy === undefined && after.entropy === undefined
			? {}
			: { entropy: both<number | null>(before.entropy, after.entropy, null) }),
		...(before.top === undefined && after.top === undefined
			? {}
			: { top: both<[string, number][]>(before.top, after.top, []) }),
		...(partial ? { partial } : {}),
	};
}
