import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../../base/failure.ts';
import { Random } from '../../base/random.ts';
import type { Generated, GenerateRequest, Generation, Policy, PolicyCapabilities } from '../../core/search/policy.ts';
import { withoutTag } from '../../core/text/plainTokens.ts';
import { defaultCallTags } from '../../core/text/template.ts';
import type { TraceTags } from '../../core/trace/trace.ts';
import { decodeOrThrow } from '../../protocol/decode.ts';
import type { ChatMessage } from '../../protocol/scorer.ts';
import { contextOverflow, endOfContext } from '../contextOverflow.ts';
import type { BindOptions, EpisodeForm, OpenPolicy, PolicyTotals } from '../openedPolicy.ts';
import { TotalsCounter } from '../totals.ts';
import { CompletionTree, type DrawnToken, endToken, type WeightedText } from './completionTree.ts';
import { type Script, type ScriptInput, type ScriptRule, scriptSchema } from './script.ts';
import { scriptedTokens } from './scriptedTokens.ts';
import { matchWildcard } from './wildcard.ts';

const { call, result } = defaultCallTags;
const scriptedEpisodes: EpisodeForm = {
	call,
	result,
	end: '',
	plain: (text) => [...call, ...result].reduce(withoutTag, text),
};

type Conversation = readonly ChatMessage[];

/**
 * Replays a script, for tests and for exploring how strategies work. Its completions define a distribution over tokens,
 * so it can continue from any of their prefixes and report exact log-probabilities. The same request with the same seed
 * gets the same answer, regardless of concurrent requests.
 */
export class ScriptedPolicy implements OpenPolicy {
	readonly name: string;
	readonly model: string;
	readonly capabilities: PolicyCapabilities;
	readonly tags: TraceTags | null;
	readonly notes: readonly string[] = [];
	readonly episodes = scriptedEpisodes;
	readonly #script: Script;
	readonly #used = new Map<ScriptRule, number>();
	readonly #totals = new TotalsCounter();
	readonly #gone = new AbortController();

	/** Fails with `invalid` if the script is malformed. */
	constructor(script: ScriptInput, name = 'script') {
		this.#script = decodeOrThrow(scriptSchema, script, name);
		const { without, tags } = this.#script;
		this.name = this.#script.name ?? name;
		this.model = 'script';
		this.tags = tags ?? null;
		const has = (what: (typeof without)[number]) => !without.includes(what);
		this.capabilities = {
			logprobs: has('logprobs'),
			alternatives: has('logprobs') && has('alternatives') ? 20 : 0,
			distribution: has('logprobs'),
			prefix: has('prefix'),
			seed: has('seed'),
			instructions: has('instructions'),
			score: has('score'),
			heads: [],
		};
	}

	get context(): number | null {
		return this.#script.context ?? null;
	}

	get totals(): PolicyTotals {
		return this.#totals.snapshot();
	}

	bind({ signal, onText }: BindOptions): Policy {
		const ended = AbortSignal.any([signal, this.#gone.signal]);
		const policy: Policy = {
			name: this.name,
			capabilities: this.capabilities,
			generate: (requests) =>
				Promise.all(
					requests.map(async (request) => {
						const generated = await this.#generate(request, ended);
						if (!(generated instanceof Failure)) {
							for (const [index, { text }] of generated.entries()) onText?.({ request, index, text });
						}
						return generated;
					}),
				),
		};
		if (!this.capabilities.score) return policy;
		return {
			...policy,
			score: async (items) =>
				items.map(({ messages, completion }) => {
					const [found] = this.#answers(messages, '');
					return (found === undefined ? new CompletionTree([]) : new CompletionTree(found.texts)).score(completion);
				}),
		};
	}

	dispose(): void {
		this.#gone.abort();
	}

	/** Yields the matching rules, each with the part of its replies that follows the prefix. */
	*#answers(messages: Conversation, prefix: string): Generator<{ rule: ScriptRule; texts: readonly WeightedText[] }> {
		const asked = messages.findLast(({ role }) => role === 'user')?.content ?? '';
		for (const rule of this.#script.rules) {
			const found = rule.prompt === undefined ? [] : matchWildcard(rule.prompt, asked);
			if (found === null || !fits(rule, messages, prefix)) continue;
			const said = rule.say === undefined ? [] : Array.isArray(rule.say) ? rule.say : [rule.say];
			const texts = said.map((one) => (typeof one === 'string' ? { text: one, weight: 1 } : one));
			const filled = texts.map(({ text, weight }) => ({
				text: text.replace(/\$(\d)/g, (mark, n: string) => found[Number(n) - 1] ?? mark),
				weight,
			}));
			if (rule.fail !== undefined || rule.after !== undefined || prefix === '') yield { rule, texts: filled };
			else {
				const left = filled.filter(({ text }) => text.startsWith(prefix));
				const rest = left.map(({ text, weight }) => ({ text: text.slice(prefix.length), weight }));
				if (rest.length > 0) yield { rule, texts: rest };
			}
		}
	}

	async #generate(request: GenerateRequest, signal: AbortSignal): Promise<Generated> {
		if (signal.aborted) throw new Failure('cancelled', 'Canceled.');
		const prefix = this.capabilities.prefix ? request.prefix : '';
		let chosen: { rule: ScriptRule; texts: readonly WeightedText[] } | undefined;
		for (const answer of this.#answers(request.messages, prefix)) {
			const used = this.#used.get(answer.rule) ?? 0;
			if (used >= (answer.rule.times ?? Number.POSITIVE_INFINITY)) continue;
			this.#used.set(answer.rule, used + 1);
			chosen = answer;
			break;
		}
		if (chosen !== undefined && chosen.rule.delayMs > 0) {
			await sleep(chosen.rule.delayMs, undefined, { signal }).catch(() => {
				throw new Failure('cancelled', 'Canceled.');
			});
		}
		const fail = chosen?.rule.fail;
		if (fail !== undefined) return new Failure(fail.reason, `${this.name}: ${fail.message}`);
		const given = [...request.messages.map(({ content }) => content ?? ''), prefix];
		const promptTokens = given.reduce((sum, text) => sum + scriptedTokens(text).length, 0);
		const { context } = this.#script;
		if (context !== undefined && promptTokens >= context)
			return endOfContext(contextOverflow(this.name, promptTokens, context), request, request.n);
		const tree = new CompletionTree(chosen?.texts ?? []);
		const generations = Array.from({ length: request.n }, (_, k) => {
			const random = this.capabilities.seed
				? Random.of(request.seed, 'scripted', given.join('\u0000'), k)
				: Random.of(Math.random() * 2 ** 32);
			const max = Math.min(request.maxTokens, context === undefined ? request.maxTokens : context - promptTokens);
			const finish = chosen?.rule.finish ?? 'end';
			return this.#write(tree, request, random, max, finish, k === 0 ? promptTokens : 0);
		});
		this.#totals.add(generations);
		return generations;
	}

	#write(
		tree: CompletionTree,
		request: GenerateRequest,
		random: Random,
		max: number,
		ending: Generation['finish'],
		promptTokens: number,
	): Generation {
		const drawn: DrawnToken[] = [];
		let text = '';
		let finish = ending;
		let stopText: string | undefined;
		let last: DrawnToken | null = null;
		for (const token of tree.draw(request.temperature, request.topP, random)) {
			if (token.text === endToken) {
				last = token;
				break;
			}
			if (drawn.length >= max) {
				finish = 'length';
				break;
			}
			drawn.push(token);
			text += token.text;
			const stop = earliest(text, request.stop);
			if (stop === null) continue;
			text = text.slice(0, stop.at);
			finish = 'stop';
			stopText = stop.text;
			break;
		}
		const all = last === null ? drawn : [...drawn, last];
		const kept = stopText === undefined ? all : within(drawn, text);
		const { logprobs, alternatives } = this.capabilities;
		return {
			text,
			finish,
			...(stopText === undefined ? {} : { stopText }),
			tokens: drawn.length,
			promptTokens,
			logprob: logprobs ? all.reduce((sum, { logprob }) => sum + logprob, 0) : null,
			detail:
				request.tokens === 0 || !logprobs
					? null
					: {
							text: kept.map((token) => token.text),
							logprob: kept.map(({ logprob }) => logprob),
							entropy: kept.map(({ entropy }) => entropy),
							varentropy: kept.map(({ varentropy }) => varentropy),
							gini: kept.map(({ gini }) => gini),
							variance: kept.map(({ variance }) => variance),
							...(request.tokens > 1 && alternatives > 0
								? { top: kept.map(({ top }) => top.slice(0, Math.min(request.tokens, alternatives))) }
								: {}),
						},
		};
	}
}

function fits(rule: ScriptRule, messages: Conversation, prefix: string): boolean {
	const { message, after } = rule;
	if (after !== undefined && matchWildcard(after, prefix) === null) return false;
	return message === undefined || messages.some(({ content }) => matchWildcard(message, content ?? '') !== null);
}

/** Returns the stop string that occurs first in the text. If two start at the same position, the longer one wins. */
function earliest(text: string, stops: readonly string[]): { text: string; at: number } | null {
	let found: { text: string; at: number } | null = null;
	for (const stop of stops) {
		const at = stop === '' ? -1 : text.indexOf(stop);
		if (at < 0 || (found !== null && (at > found.at || (at === found.at && stop.length < found.text.length)))) continue;
		found = { text: stop, at };
	}
	return found;
}

/** Returns the tokens that start within the given text. */
function within(tokens: readonly DrawnToken[], text: string): readonly DrawnToken[] {
	let length = 0;
	let count = 0;
	while (count < tokens.length && length < text.length) length += (tokens[count++] as DrawnToken).text.length;
	return tokens.slice(0, count);
}
