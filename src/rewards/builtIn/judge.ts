import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { judgeMessage, readVerdict } from '../../core/reward/judgePrompt.ts';
import { answerOf, goldTexts, type RewardSample } from '../../core/reward/rewardSample.ts';
import type { TraceTags } from '../../core/trace/trace.ts';
import { sha256 } from '../../files/sha256.ts';
import type { RewardEntry } from '../../protocol/recipeKeys/builtInRewards.ts';
import type { BuiltIn } from '../builtInReward.ts';
import type { JsonServer } from './jsonServer.ts';
import type { JudgeCache } from './judgeCache.ts';

const replySchema = v.looseObject({
	choices: v.pipe(
		v.array(
			v.looseObject({
				message: v.looseObject({ content: v.nullish(v.string()) }),
				finish_reason: v.nullish(v.string()),
			}),
		),
		v.minLength(1),
	),
	usage: v.nullish(v.looseObject({ prompt_tokens: v.optional(v.number()), completion_tokens: v.optional(v.number()) })),
});

/** A judge's usage so far. */
interface Spent {
	asked: number;
	cached: number;
	promptTokens: number;
	replyTokens: number;
}

/** The `judge` reward: asks a language model on an OpenAI-compatible server to judge each row. */
export class Judge implements BuiltIn {
	readonly concurrency: number;
	readonly #entry: RewardEntry<'judge'>;
	readonly #tags: TraceTags;
	readonly #server: JsonServer;
	readonly #cache: JudgeCache;
	readonly #log: (line: string) => void;
	/** Pending requests by key, so identical requests are sent only once, even before the first reply arrives. */
	readonly #asking = new Map<string, Promise<string>>();
	readonly #spent: Spent = { asked: 0, cached: 0, promptTokens: 0, replyTokens: 0 };
	#inFlight = 0;
	/** Number of replies included in the last log message. */
	#reportedAt = 0;

	constructor(
		entry: RewardEntry<'judge'>,
		tags: TraceTags,
		server: JsonServer,
		cache: JudgeCache,
		log: (line: string) => void,
	) {
		this.#entry = entry;
		this.#tags = tags;
		this.#server = server;
		this.#cache = cache;
		this.#log = log;
		this.concurrency = entry.concurrency;
	}

	/**
	 * Returns a value from 0 to 1, or null if the gold answer is required but the row has none. Fails with the same
	 * errors as {@link JsonServer.post}, or with `invalid`.
	 */
	async score(sample: RewardSample, signal: AbortSignal): Promise<number | null> {
		const { gold: shown, column, judged } = this.#entry;
		const [first] = goldTexts(sample, column);
		const gold = shown === 'never' ? null : (first ?? null);
		if (shown === 'required' && gold === null) return null;
		const response = judged === 'answer' ? answerOf(sample, this.#tags) : sample.completion.trim();
		// An empty or missing response does not need a judge.
		if (response === null || response === '') return 0;
		const texts = { problem: sample.prompt, gold, response };
		// The code is a hash of all of the text, so the text cannot contain it, and the same row always produces the same
		// request.
		const code = sha256(JSON.stringify([texts, this.#entry.prompt, this.#entry.model])).slice(0, 12);
		const reply = await this.#ask(judgeMessage(texts, this.#entry, code), signal);
		const verdict = readVerdict(reply, this.#entry, code);
		if ('fault' in verdict)
			throw new Failure('invalid', `${verdict.fault}.`, 'Use a stronger judge or a different "prompt".');
		return verdict.value;
	}

	async #ask(message: string, signal: AbortSignal): Promise<string> {
		const { url, model, temperature, maxTokens, body: further } = this.#entry;
		const address = `${url.replace(/\/+$/, '')}/chat/completions`;
		const body = {
			...further,
			model,
			messages: [{ role: 'user', content: message }],
			temperature,
			max_tokens: maxTokens,
			stream: false,
		};
		const key = sha256(JSON.stringify([address, body]));
		const known = this.#cache.get(key);
		if (known !== undefined) {
			this.#spent.cached++;
			return known;
		}
		const pending = this.#asking.get(key);
		if (pending !== undefined) return pending;
		const asked = this.#send(address, body, key, signal).finally(() => this.#asking.delete(key));
		this.#asking.set(key, asked);
		return asked;
	}

	async #send(address: string, body: unknown, key: string, signal: AbortSignal): Promise<string> {
		this.#inFlight++;
		try {
			const reply = v.safeParse(replySchema, await this.#server.post(address, body, signal));
			if (!reply.success) {
				throw new Failure('invalid', `${address} did not return a chat completion.`, 'Fix "url".');
			}
			const { choices, usage } = reply.output;
			this.#spent.asked++;
			this.#spent.promptTokens += usage?.prompt_tokens ?? 0;
			this.#spent.replyTokens += usage?.completion_tokens ?? 0;
			const [choice] = choices;
			const content = choice?.message.content ?? '';
			if (choice?.finish_reason === 'length') {
				throw new Failure('invalid', "The judge's reply was truncated before the verdict.", 'Raise "maxTokens".');
			}
			if (content.trim() === '')
				throw new Failure('invalid', 'The judge returned an empty reply.', 'Use a different judge.');
			await this.#cache.set(key, content);
			return content;
		} finally {
			this.#inFlight--;
			if (this.#inFlight === 0 && this.#spent.asked > this.#reportedAt) {
				this.#reportedAt = this.#spent.asked;
				this.#log(this.summary());
			}
		}
	}

	/** Returns a one-line summary: requests, tokens and total cost. */
	summary(): string {
		const { asked, cached, promptTokens, replyTokens } = this.#spent;
		const { name, inputPrice, outputPrice } = this.#entry;
		const price = (promptTokens * inputPrice + replyTokens * outputPrice) / 1e6;
		const cost = inputPrice + outputPrice > 0 ? `, price ${price.toFixed(6)}` : '';
		const broken = this.#cache.broken === null ? '' : `; ${this.#cache.broken.message}`;
		return (
			`${name}: ${asked} replies, ${cached} more from cache, ` +
			`${promptTokens} + ${replyTokens} tokens${cost} since start${broken}`
		);
	}
}
