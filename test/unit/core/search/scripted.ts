import { hashText, mix32 } from '../../../../src/base/random.ts';
import type {
	Generated,
	GenerateRequest,
	Generation,
	Policy,
	PolicyCapabilities,
} from '../../../../src/core/search/policy.ts';
import type { ScoreItem, Scorer } from '../../../../src/core/search/scorer.ts';
import type { SearchProblem } from '../../../../src/protocol/treeLog.ts';

export const problem: SearchProblem = { prompt: 'What is it?', answer: null, row: {} };

export const allCapabilities: PolicyCapabilities = {
	logprobs: true,
	alternatives: 0,
	distribution: false,
	prefix: true,
	seed: true,
	instructions: true,
	score: false,
	heads: [],
};

export const generation = (text: string, more: Partial<Generation> = {}): Generation => ({
	text,
	finish: 'end',
	tokens: Math.max(1, text.length),
	promptTokens: 1,
	logprob: -text.length / 10,
	detail: null,
	...more,
});

/** A policy defined by a function of the request and the generation's index. Records its requests. */
export class FunctionPolicy implements Policy {
	readonly name = 'scripted';
	readonly capabilities: PolicyCapabilities;
	readonly calls: (readonly GenerateRequest[])[] = [];
	readonly #play: (request: GenerateRequest, i: number) => Generated | Generation;

	constructor(
		play: (request: GenerateRequest, i: number) => Generated | Generation,
		capabilities: Partial<PolicyCapabilities> = {},
	) {
		this.#play = play;
		this.capabilities = { ...allCapabilities, ...capabilities };
	}

	get requests(): GenerateRequest[] {
		return this.calls.flat();
	}

	async generate(requests: readonly GenerateRequest[]): Promise<readonly Generated[]> {
		this.calls.push(requests);
		return requests.map((request) => {
			const made: Generation[] = [];
			for (let i = 0; i < request.n; i++) {
				const one = this.#play(request, i);
				if (!('text' in one)) return one;
				made.push(one);
			}
			return made;
		});
	}
}

/** Returns a number that is determined by the seed and the generation. */
export const drawn = (request: GenerateRequest, i: number, n: number): number => mix32(request.seed + i * 7919) % n;

export class FunctionScorer implements Scorer {
	readonly name: string;
	readonly scope: Scorer['scope'];
	readonly oracle = false;
	readonly calls: (readonly ScoreItem[])[] = [];
	readonly #value: (item: ScoreItem) => number | null;

	constructor(value: (item: ScoreItem) => number | null, scope: Scorer['scope'] = 'step', name = 'value') {
		this.#value = value;
		this.scope = scope;
		this.name = name;
	}

	async score(items: readonly ScoreItem[]): Promise<readonly (number | null)[]> {
		this.calls.push(items);
		return items.map((item) => this.#value(item));
	}
}

/** Returns a value in [0, 1) that is determined by the text. */
export const valueOfText = (text: string, seed = 0): number => hashText(text, seed) / 4294967296;

/** Returns a test clock that advances by a millisecond each time it is read. */
export const ticking = (): (() => number) => {
	let at = 0;
	return () => at++;
};
