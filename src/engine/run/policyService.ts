import { Failure } from '../../base/failure.ts';
import type { Tokenizer } from '../../core/text/tokenizer.ts';
import type { ControlRequest, ControlResult } from '../../protocol/control.ts';
import type { Learner, Sample, Sequence } from '../learner.ts';

/** What one request may ask for: training waits while it is answered. */
const maxRows = 4096;

/** Runs a task on the learner when training does not use it. */
export type LearnerAccess = <T>(task: () => Promise<T>) => Promise<T>;

/** `policy/generate` and `policy/score` on the current weights. Its random streams are its own. */
export class PolicyService {
	readonly #learner: Learner;
	readonly #tokenizer: Tokenizer;
	readonly #access: LearnerAccess;

	constructor(learner: Learner, tokenizer: Tokenizer, access: LearnerAccess) {
		this.#learner = learner;
		this.#tokenizer = tokenizer;
		this.#access = access;
	}

	async generate(request: ControlRequest<'policy/generate'>): Promise<ControlResult<'policy/generate'>> {
		const prompts = request.prompts.map((prompt, i) => this.#encodePrompt(prompt, `prompts[${i}]`));
		this.#checkRows(prompts.length * request.n);
		const { context } = this.#learner.shape;
		const stop = request.stop.filter((text) => text !== '');
		const samples =
			prompts.length === 0
				? []
				: await this.#access(() =>
						this.#learner.sample({
							prompts: prompts.flatMap((prompt) => new Array<readonly number[]>(request.n).fill(prompt)),
							seeds: prompts.flatMap((_, p) =>
								Array.from({ length: request.n }, (_, k) => `policy/${request.seed}/${p}/${k}`),
							),
							// Each row also ends with its context, whatever the other prompts' lengths.
							maxNewTokens: request.maxTokens ?? context,
							temperature: request.temperature,
							topP: request.topP,
							stop: stop.flatMap((text) => this.#singleToken(text)),
						}),
					);
		return {
			completions: prompts.map((_, p) =>
				samples
					.slice(p * request.n, (p + 1) * request.n)
					.map((sample) => this.#completion(sample, stop, request.logprobs)),
			),
		};
	}

	async score(request: ControlRequest<'policy/score'>): Promise<ControlResult<'policy/score'>> {
		if (request.prompts.length !== request.completions.length) {
			throw new Failure('invalid', 'policy/score needs as many completions as prompts.');
		}
		this.#checkRows(request.prompts.length);
		if (request.reference && !this.#learner.hasReference) {
			throw new Failure('unsupported', 'This run keeps no reference policy (beta is 0).', 'Score without "reference".');
		}
		const rows = request.prompts.map((prompt, i): Sequence => {
			const start = this.#encodePrompt(prompt, `prompts[${i}]`);
			const tokens = [...start, ...this.#tokenizer.encode(request.completions[i] as string)];
			if (tokens.length > this.#learner.shape.context) throw this.#tooLong(`prompts[${i}] with its completion`);
			return { tokens, promptLength: start.length };
		});
		const scored = rows.filter((row) => row.tokens.length > row.promptLength);
		const of = request.reference ? 'reference' : 'policy';
		const logprobs =
			scored.length === 0 ? [] : await this.#access(() => this.#learner.logprobs(scored, of, request.temperature));
		const byRow = new Map(scored.map((row, i) => [row, logprobs[i]]));
		return { logprobs: rows.map((row) => [...(byRow.get(row) ?? [])]) };
	}

	#encodePrompt(prompt: string, what: string): number[] {
		const tokens = this.#tokenizer.encodePrompt(prompt);
		if (tokens.length >= this.#learner.shape.context) throw this.#tooLong(what);
		return tokens;
	}

	#tooLong(what: string): Failure {
		return new Failure('invalid', `${what} does not fit the context of ${this.#learner.shape.context} tokens.`);
	}

	#checkRows(rows: number): void {
		if (rows > maxRows) throw new Failure('invalid', `${rows} completions are too many for one request (${maxRows}).`);
	}

	/** A stop text that is one token ends sampling; a longer one is cut off afterwards. */
	#singleToken(text: string): number[] {
		if (this.#tokenizer.unknownIn(text) !== null) return [];
		const tokens = this.#tokenizer.encode(text);
		return tokens.length === 1 ? tokens : [];
	}

	#completion(sample: Sample, stop: readonly string[], withTokens: boolean) {
		const ids = sample.tokens.slice(sample.promptLength);
		let text = this.#tokenizer.decode(ids);
		let length = ids.length;
		let cut = false;
		const ends = stop.map((end) => text.indexOf(end)).filter((at) => at >= 0);
		if (ends.length > 0) {
			text = text.slice(0, Math.min(...ends));
			cut = true;
			length = 0;
			for (let seen = 0; length < ids.length && seen < text.length; length++) {
				seen += this.#tokenizer.decode([ids[length] as number]).length;
			}
		}
		return {
			text,
			truncated: sample.truncated && !cut,
			...(withTokens
				? {
						tokens: {
							text: ids.slice(0, length).map((id) => this.#tokenizer.symbols[id] ?? ''),
							logprob: [...sample.logprobs.slice(0, length)],
							entropy: [...sample.entropies.slice(0, length)],
						},
					}
				: {}),
		};
	}
}
