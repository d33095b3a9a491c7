import { Failure } from '../../../../base/failure.ts';
import type { Problem } from '../../../../core/dataset/problem.ts';
import { renderToolCall } from '../../../../core/episode/toolCallText.ts';
import { type PlainEncoder, plainEncoder } from '../../../../core/text/plainTokens.ts';
import { renderPrompt, type TagPair, type Template } from '../../../../core/text/template.ts';
import { bosToken, eosToken, type Tokenizer } from '../../../../core/text/tokenizer.ts';
import type { ToolSchema } from '../../../../protocol/environmentHost.ts';
import type { EpisodeTurn, ToolCall } from '../../../../protocol/episode.ts';
import type { PosedProblem } from '../problemFeed.ts';

/** Converts the text of episodes to tokens. Text from the environment never becomes a tag. */
export class EpisodeText {
	readonly tools: readonly ToolSchema[];
	readonly callTags: TagPair;
	readonly #tokenizer: Tokenizer;
	readonly #template: Template;
	readonly #plain: PlainEncoder;
	readonly #call: readonly [open: number, close: number];
	readonly #result: readonly [open: number, close: number];

	constructor(tokenizer: Tokenizer, template: Template, tools: readonly ToolSchema[]) {
		const { call, result } = template;
		if (call === undefined || result === undefined) {
			throw new Failure('internal', 'The template has no tags for tool calls.');
		}
		this.tools = tools;
		this.callTags = call;
		this.#tokenizer = tokenizer;
		this.#template = template;
		this.#plain = plainEncoder(tokenizer);
		const tag = (text: string) => tokenizer.encode(text)[0] as number;
		this.#call = [tag(call[0]), tag(call[1])];
		this.#result = [tag(result[0]), tag(result[1])];
	}

	decode(tokens: readonly number[]): string {
		return this.#tokenizer.decode(tokens);
	}

	/** Returns a problem whose prompt ends with the text that `reset` returned. */
	pose(problem: Problem, observation: string | null): PosedProblem {
		const prompt = renderPrompt(this.#template, problem.prompt + (observation ?? ''));
		if (observation === null) return { problem, prompt, promptTokens: this.#tokenizer.encodePrompt(prompt) };
		const promptTokens = [bosToken];
		for (const [i, part] of this.#template.prompt.split('{prompt}').entries()) {
			if (i > 0) promptTokens.push(...this.#tokenizer.encode(problem.prompt), ...this.#plain.encode(observation));
			promptTokens.push(...this.#tokenizer.encode(part));
		}
		return { problem, prompt, promptTokens };
	}

	/** Returns the tokens of a turn's results, in order. */
	answer(results: EpisodeTurn['results']): number[] {
		const [open, close] = this.#result;
		return results.flatMap(({ content }) => [open, ...this.#plain.encode(content), close]);
	}

	/** Returns a policy turn that makes the given calls. A turn without calls ends the episode. */
	turn(calls: readonly ToolCall[]): number[] {
		const [open, close] = this.#call;
		const written = calls.flatMap((call) => [open, ...this.#plain.encode(renderToolCall(call, this.tools)), close]);
		return [...written, eosToken];
	}
}
