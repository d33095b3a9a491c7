import type { Exchange, PlaygroundSample, PlaygroundSide } from '../../protocol/playgroundMessages.ts';
import type { RewardCase } from '../export/rewardCase.ts';
import { r1Tags, type TraceTags } from '../trace/trace.ts';

const noTags: TraceTags = { think: null, answer: null };

/**
 * Returns the tags that separate thinking from the answer: the policy's tags, or else R1's if the text contains them.
 */
export function sideTags({ tags }: Pick<PlaygroundSide, 'tags'>, text: string): TraceTags {
	if (tags !== null) return tags;
	const has = (tag: readonly [string, string]) => text.includes(tag[0]) || text.includes(tag[1]);
	if (has(r1Tags.answer)) return r1Tags;
	return has(r1Tags.think) ? { think: r1Tags.think, answer: null } : noTags;
}

/**
 * Returns a completion as a NAME.cases.jsonl line.
 * @param expect expected reward
 */
export function caseOf(
	exchange: Exchange,
	side: PlaygroundSide,
	sample: PlaygroundSample,
	expect: number | null,
): RewardCase {
	const { question, expected } = exchange;
	const short = question.replace(/\s+/g, ' ').trim();
	return {
		name: `${short.length > 60 ? `${short.slice(0, 60)}…` : short} (${side.name})`,
		prompt: side.prompt,
		completion: sample.text,
		...(expected === '' ? {} : { answer: expected }),
		row: { question, ...(expected === '' ? {} : { answer: expected }) },
		...(sample.finish === 'length' || sample.finish === 'context' || sample.finish === 'cut'
			? { truncated: true as const }
			: {}),
		expect,
	};
}

/** Quotes text as a single word for a POSIX shell. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * Returns shell commands that ask the API the same question: they start a server for this policy and send a request.
 */
export function apiCall({ question, sampling }: Exchange, { policy }: PlaygroundSide): string {
	const { temperature, topP, maxTokens, seed, samples } = sampling;
	const named =
		policy.kind === 'checkpoint' ? policy.folder : policy.kind === 'scripted' ? policy.file : JSON.stringify(policy);
	const body = {
		messages: [{ role: 'user', content: question }],
		...{ temperature, top_p: topP, max_tokens: maxTokens, seed },
		...(samples > 1 ? { n: samples } : {}),
	};
	return [
		'export REASONING_LAB_TOKEN=choose-one',
		`reasoning-lab serve --policy ${quoted(named)} --strategy best-of-n --param n=1 &`,
		'curl http://127.0.0.1:8420/v1/chat/completions \\',
		'  -H "Authorization: Bearer $REASONING_LAB_TOKEN" -H "Content-Type: application/json" \\',
		`  -d ${quoted(JSON.stringify(body))}`,
		'',
	].join('\n');
}
