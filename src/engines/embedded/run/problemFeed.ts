import { Failure } from '../../../base/failure.ts';
import type { Problem } from '../../../core/dataset/problem.ts';
import type { ProblemSource } from '../../../core/dataset/problemSource.ts';
import { type LatentForm, writtenSteps } from '../../../core/latent/latentCurriculum.ts';
import { latentPlaces, withThoughts } from '../../../core/text/latentTags.ts';
import { renderCompletion, renderPrompt, type Template } from '../../../core/text/template.ts';
import { eosToken, type Tokenizer } from '../../../core/text/tokenizer.ts';

/** A problem as presented to the policy. */
export interface PosedProblem {
	readonly problem: Problem;
	/** The problem rendered in its template. */
	readonly prompt: string;
	/** Token ids of bos + prompt, followed by the delimiters and placeholders of latent thoughts, if there are any. */
	readonly promptTokens: readonly number[];
}

/** A problem with a completion to train on. */
export interface WorkedProblem extends PosedProblem {
	/** Token ids of prompt and completion, including end-of-sequence. */
	readonly tokens: readonly number[];
}

/** Distinct problems that a stage chooses from. */
export interface ProblemPool {
	readonly problems: readonly Problem[];
	/** Cursor after the last problem read for the pool. */
	readonly end: number;
}

/** Maximum number of consecutive unusable rows before the feed gives up on the dataset. */
const patience = 10_000;

interface FeedOptions {
	readonly source: ProblemSource;
	readonly tokenizer: Tokenizer;
	readonly template: Template;
	/** Context length in tokens. */
	readonly context: number;
	readonly seed: number;
	/** Called when the number of skipped rows reaches a power of two. */
	readonly onLeftOut: (count: number, why: string) => void;
}

/**
 * Supplies tokenized training problems in seeded order. The cursor is a single integer, the number of problems read.
 * Rows that exceed the context or lack a field the stage needs are skipped and counted.
 */
export class ProblemFeed {
	readonly #options: FeedOptions;
	readonly #source: ProblemSource;
	readonly #tokenizer: Tokenizer;
	readonly #template: Template;
	/** Context length in tokens. */
	readonly context: number;
	readonly #seed: number;
	readonly #onLeftOut: (count: number, why: string) => void;
	/** Number of skipped rows, shared with copies. */
	#leftOut = { count: 0 };
	cursor = 0;
	/** Problems that the stage chooses from by their pass rates; null if it reads them in order. */
	pool: ProblemPool | null = null;

	constructor(options: FeedOptions) {
		this.#options = options;
		this.#source = options.source;
		this.#tokenizer = options.tokenizer;
		this.#template = options.template;
		this.context = options.context;
		this.#seed = options.seed;
		this.#onLeftOut = options.onLeftOut;
	}

	/** Returns a feed that continues at the same problem, with a separate cursor. */
	copy(): ProblemFeed {
		const feed = new ProblemFeed(this.#options);
		feed.cursor = this.cursor;
		feed.#leftOut = this.#leftOut;
		feed.pool = this.pool;
		return feed;
	}

	/** Returns the next n problems that leave room for `completionLength` tokens. */
	nextPosed(n: number, completionLength: number): PosedProblem[] {
		return this.#take(n, (problem) => this.#posable(problem, completionLength));
	}

	#posable(problem: Problem, completionLength: number): PosedProblem | string {
		const posed = this.pose(problem);
		return posed.promptTokens.length + completionLength <= this.context
			? posed
			: `longer than the context of ${this.context} tokens`;
	}

	/**
	 * Reads up to `size` distinct problems starting at the given position, each with room for `completionLength`
	 * tokens. Does not move the cursor.
	 */
	readPool(first: number, size: number, completionLength: number): ProblemPool {
		const { trainingRows } = this.#source;
		const keys = new Set<string>();
		const problems: Problem[] = [];
		let end = first;
		// If the position is in the middle of an epoch, the rows before it come up in the next epoch.
		const last = trainingRows === undefined ? Number.POSITIVE_INFINITY : first + 2 * trainingRows;
		for (let missed = 0; problems.length < size && end < last && missed < patience; missed++) {
			const problem = this.#source.training(this.#seed, end++);
			if (keys.has(problem.key)) continue;
			const posed = this.#posable(problem, completionLength);
			keys.add(problem.key);
			if (typeof posed === 'string') {
				this.#noteLeftOut(posed);
				continue;
			}
			problems.push(problem);
			missed = -1;
		}
		return { problems, end };
	}

	/** Returns the next problem unchanged, with its number. */
	next(): { readonly problem: Problem; readonly number: number } {
		const number = this.cursor++;
		return { problem: this.#source.training(this.#seed, number), number };
	}

	/**
	 * Returns the next n problems whose worked solutions fit the context.
	 * @param latent which steps are latent thoughts, or null if all are written
	 */
	nextWorked(n: number, latent: LatentForm | null = null): WorkedProblem[] {
		return this.#take(n, (problem) => {
			const { solution, answer } = problem;
			if (solution === null || answer === null) return 'no worked solution';
			const posed = this.pose(problem, latent);
			const written = latent === null ? solution : writtenSteps(solution, latent);
			const worked = { solution: written, answer: problem.stated ?? answer };
			const completion = this.#tokenizer.encode(renderCompletion(this.#template, worked));
			const tokens = [...posed.promptTokens, ...completion, eosToken];
			return tokens.length <= this.context ? { ...posed, tokens } : `longer than the context of ${this.context} tokens`;
		});
	}

	/** Returns held-out problems whose prompts leave room for an answer. @param latent see `pose` */
	heldOut(n: number, latent: Pick<LatentForm, 'thoughts'> | null = null): PosedProblem[] {
		const posed = this.#source.heldOut(n).map((problem) => this.pose(problem, latent));
		return posed.filter((problem) => problem.promptTokens.length < this.context);
	}

	/** @param latent number of latent thoughts after the prompt, or null if it has no slots for them */
	pose(problem: Problem, latent: Pick<LatentForm, 'thoughts'> | null = null): PosedProblem {
		const prompt = renderPrompt(this.#template, problem.prompt);
		const tokens = this.#tokenizer.encodePrompt(prompt);
		const promptTokens =
			latent === null ? tokens : withThoughts(this.#tokenizer, tokens, latentPlaces(this.#tokenizer, latent.thoughts));
		return { problem, prompt, promptTokens };
	}

	#noteLeftOut(why: string): void {
		const count = ++this.#leftOut.count;
		if ((count & (count - 1)) === 0) this.#onLeftOut(count, why);
	}

	#take<T extends PosedProblem>(n: number, accept: (problem: Problem) => T | string): T[] {
		const taken: T[] = [];
		for (let missed = 0; taken.length < n; ) {
			const result = accept(this.#source.training(this.#seed, this.cursor++));
			if (typeof result !== 'string') {
				taken.push(result);
				missed = 0;
				continue;
			}
			this.#noteLeftOut(result);
			if (++missed === patience) {
				throw new Failure(
					'invalid',
					`${this.#source.name}: the last ${patience} rows were all skipped (${result}).`,
					'Increase "context" in the recipe, reduce "max_completion_length" in its stages, or use different data.',
				);
			}
		}
		return taken;
	}
}
