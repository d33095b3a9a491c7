import { Failure } from '../../../base/failure.ts';
import { type LatentPlaces, latentPlaces, withThoughts } from '../../../core/text/latentTags.ts';
import type { Tokenizer } from '../../../core/text/tokenizer.ts';
import {
	type ControlRequest,
	type ControlResult,
	controlExtensions,
	type HeadName,
} from '../../../protocol/control.ts';
import type { PolicyAnswers } from '../../shared/policyAnswers.ts';
import type { Learner, Sequence } from '../learner.ts';
import { completionOf } from './completionOf.ts';
import type { LearnerAccess } from './learnerAccess.ts';
import { SamplingQueue } from './samplingQueue.ts';

/** Maximum rows per request. Training waits while a request is being answered. */
const maxRows = 4096;

/** `policy/generate` extensions supported by this engine. */
export const policyExtensions: readonly string[] = [controlExtensions.many, controlExtensions.distribution];

/** Type of the stage that trains each head. */
const stageOfHead: Readonly<Record<HeadName, string>> = {
	value: 'value-model',
	process: 'process-reward-model',
	reward: 'reward-model',
	critic: 'ppo',
};

/**
 * Answers `policy/generate`, `policy/score` and `policy/value` with the current weights, using separate random streams.
 */
export class PolicyService implements PolicyAnswers {
	readonly #learner: Learner;
	readonly #tokenizer: Tokenizer;
	readonly #access: LearnerAccess;
	readonly #sampling: SamplingQueue;

	readonly #thoughts: () => number | null;

	/** @param thoughts returns the number of latent thoughts before a completion; null if prompts lack slots for them */
	constructor(
		learner: Learner,
		tokenizer: Tokenizer,
		access: LearnerAccess,
		thoughts: () => number | null = () => null,
	) {
		this.#learner = learner;
		this.#tokenizer = tokenizer;
		this.#access = access;
		this.#thoughts = thoughts;
		this.#sampling = new SamplingQueue(learner, access);
	}

	async generate(
		request: ControlRequest<'policy/generate'>,
		signal?: AbortSignal,
	): Promise<ControlResult<'policy/generate'>> {
		const count = this.#thoughts();
		const thoughts = count === null ? null : latentPlaces(this.#tokenizer, count);
		const prompts = request.prompts.map((prompt, i) => this.#encodePrompt(prompt, `prompts[${i}]`, thoughts));
		const { context } = this.#learner.shape;
		const counts = perPrompt(request.n, prompts.length, 'n');
		const limits = perPrompt(request.maxTokens ?? context, prompts.length, 'maxTokens');
		const seeds = request.seeds;
		if (seeds !== undefined && seeds.length !== prompts.length)
			throw wrongLength('seeds', seeds.length, prompts.length);
		const rows = prompts.flatMap((prompt, p) =>
			Array.from({ length: counts[p] as number }, (_, k) => ({
				prompt,
				seed: seeds === undefined ? `policy/${request.seed}/${p}/${k}` : `policy/${seeds[p]}/0/${k}`,
				// Each row also has its own context limit, independent of the other prompts.
				limit: limits[p] as number,
			})),
		);
		this.#checkRows(rows.length);
		const stop = request.stop.filter((text) => text !== '');
		const withTokens = request.logprobs || request.alternatives > 0;
		const samples =
			rows.length === 0
				? []
				: await this.#sampling.sample(
						{
							prompts: rows.map((row) => row.prompt),
							seeds: rows.map((row) => row.seed),
							maxNewTokens: rows.map((row) => row.limit),
							temperature: request.temperature,
							topP: request.topP,
							stop: stop.flatMap((text) => this.#singleToken(text)),
							spread: true,
							...(thoughts === null ? {} : { thoughts }),
							...(withTokens ? { detail: { alternatives: request.alternatives } } : {}),
						},
						signal,
					);
		let start = 0;
		return {
			completions: counts.map((count) => {
				start += count;
				return samples
					.slice(start - count, start)
					.map((sample) => completionOf(sample, this.#tokenizer, stop, withTokens));
			}),
			promptTokens: prompts.map((prompt) => prompt.length),
		};
	}

	/** Supported extensions. */
	get extensions(): readonly string[] {
		return [...policyExtensions, ...this.#learner.heads.map(controlExtensions.head)];
	}

	/** Returns a head's values for each text. Texts are scored as given, with or without an end-of-sequence token. */
	async value(request: ControlRequest<'policy/value'>): Promise<ControlResult<'policy/value'>> {
		const rows = this.#pairs(request, 'policy/value');
		const { head } = request;
		if (!this.#learner.heads.includes(head)) {
			throw new Failure(
				'unsupported',
				`This checkpoint has no ${head} head.`,
				`Train one in a "${stageOfHead[head]}" stage, or select a checkpoint that includes it.`,
			);
		}
		const values = rows.length === 0 ? [] : await this.#access(() => this.#learner.values(rows, head));
		return {
			values: values.map((list) => list.at(-1) as number),
			...(request.tokens ? { tokens: values.map((list) => [...list]) } : {}),
		};
	}

	async score(request: ControlRequest<'policy/score'>): Promise<ControlResult<'policy/score'>> {
		const rows = this.#pairs(request, 'policy/score');
		if (this.#thoughts() !== null) {
			throw new Failure(
				'unsupported',
				'Text after latent thoughts cannot be scored.',
				'Sample completions instead, or use a policy that writes out its steps.',
			);
		}
		if (request.reference && !this.#learner.hasReference) {
			throw new Failure(
				'unsupported',
				'This run has no reference policy because beta is 0.',
				'Score without "reference".',
			);
		}
		const scored = rows.filter((row) => row.tokens.length > row.promptLength);
		const of = request.reference ? 'reference' : 'policy';
		const logprobs =
			scored.length === 0 ? [] : await this.#access(() => this.#learner.logprobs(scored, of, request.temperature));
		const byRow = new Map(scored.map((row, i) => [row, logprobs[i]]));
		return { logprobs: rows.map((row) => [...(byRow.get(row) ?? [])]) };
	}

	/** Tokenizes prompts together with their completions. */
	#pairs(request: Pick<ControlRequest<'policy/score'>, 'prompts' | 'completions'>, method: string): Sequence[] {
		const { prompts, completions } = request;
		if (prompts.length !== completions.length) {
			throw new Failure('invalid', `${method} requires the same number of prompts and completions.`);
		}
		this.#checkRows(prompts.length);
		return prompts.map((prompt, i): Sequence => {
			const start = this.#encodePrompt(prompt, `prompts[${i}]`);
			const tokens = [...start, ...this.#tokenizer.encode(completions[i] as string)];
			if (tokens.length > this.#learner.shape.context) throw this.#tooLong(`prompts[${i}] with its completion`);
			return { tokens, promptLength: start.length };
		});
	}

	#encodePrompt(prompt: string, what: string, thoughts: LatentPlaces | null = null): number[] {
		const text = this.#tokenizer.encodePrompt(prompt);
		const tokens = thoughts === null ? text : withThoughts(this.#tokenizer, text, thoughts);
		if (tokens.length >= this.#learner.shape.context) throw this.#tooLong(what);
		return tokens;
	}

	#tooLong(what: string): Failure {
		const { context } = this.#learner.shape;
		return new Failure('invalid', `${what} exceeds the context of ${context} tokens.`, undefined, { context });
	}

	#checkRows(rows: number): void {
		if (rows > maxRows)
			throw new Failure('invalid', `Too many completions in one request: ${rows} (maximum ${maxRows}).`);
	}

	/**
	 * Sampling itself ends only at single-token stop strings. For longer ones, the output is truncated afterward.
	 */
	#singleToken(text: string): number[] {
		if (this.#tokenizer.unknownIn(text) !== null) return [];
		const tokens = this.#tokenizer.encode(text);
		return tokens.length === 1 ? tokens : [];
	}
}

/** Returns one value per prompt, repeating a single number for all prompts. */
function perPrompt(value: number | readonly number[], prompts: number, name: string): readonly number[] {
	if (typeof value === 'number') return new Array<number>(prompts).fill(value);
	if (value.length !== prompts) throw wrongLength(name, value.length, prompts);
	return value;
}

function wrongLength(name: string, length: number, prompts: number): Failure {
	return new Failure('invalid', `policy/generate: "${name}" has ${length} entries for ${prompts} prompts.`);
}
