import type { LatentPlaces } from '../../../../src/core/text/latentTags.ts';
import type { Sequence } from '../../../../src/engines/embedded/learner.ts';
import { elementCount, parameterSpecs } from '../../../../src/engines/embedded/model/parameters.ts';
import type { ModelShape } from '../../../../src/engines/shared/modelShape.ts';

/**
 * A reference for continuous thoughts, in plain loops (Hao et al. 2024, section 3): for each thought, the model reads the
 * whole sequence so far, and its last hidden state becomes the next input.
 */

export const latentShape: ModelShape = {
	vocabulary: 10,
	context: 16,
	width: 8,
	heads: 2,
	layers: 2,
	feedForward: 12,
};

/** Tokens that open thoughts, stand in for them, and close them. */
const marks = [7, 8, 9] as const;

export const placesOf = (count: number): LatentPlaces => ({ count, marks });

/** Rows of different lengths before and after the thoughts, one of them a single token long. */
export function withPlaces(thoughts: number): Sequence[] {
	const texts = [
		{ before: [1, 5, 3, 2], after: [6, 4, 4, 2] },
		{ before: [1], after: [3, 2] },
		{ before: [1, 2, 4, 6, 3, 5], after: [2] },
		{ before: [1, 5, 3, 2], after: [6, 0, 2] },
	];
	return texts.map(({ before, after }) => {
		const prompt = [...before, marks[0], ...new Array<number>(thoughts).fill(marks[1]), marks[2]];
		return { tokens: [...prompt, ...after], promptLength: prompt.length };
	});
}

type Vector = readonly number[];

const plus = (a: Vector, b: Vector) => a.map((x, i) => x + (b[i] as number));
const dot = (a: Vector, b: Vector) => a.reduce((sum, x, i) => sum + x * (b[i] as number), 0);

/** Parameters by name. */
class Weights {
	readonly #values = new Map<string, Vector>();

	constructor(flat: Vector) {
		let offset = 0;
		for (const { name, shape } of parameterSpecs(latentShape)) {
			const size = elementCount(shape);
			this.#values.set(name, flat.slice(offset, offset + size));
			offset += size;
		}
	}

	get(name: string): Vector {
		return this.#values.get(name) as Vector;
	}

	row(name: string, index: number): Vector {
		const { width } = latentShape;
		return this.get(name).slice(index * width, (index + 1) * width);
	}

	/** Returns x W for a matrix with as many rows as x has elements. */
	times(x: Vector, name: string): Vector {
		const matrix = this.get(name);
		const columns = matrix.length / x.length;
		return Array.from({ length: columns }, (_, j) =>
			x.reduce((sum, value, i) => sum + value * (matrix[i * columns + j] as number), 0),
		);
	}

	norm(x: Vector, name: string): Vector {
		const scale = 1 / Math.sqrt(dot(x, x) / x.length + 1e-5);
		return x.map((value, i) => value * scale * (this.get(name)[i] as number));
	}
}

function softmax(x: Vector): Vector {
	const highest = Math.max(...x);
	const powers = x.map((value) => Math.exp(value - highest));
	const sum = powers.reduce((a, b) => a + b);
	return powers.map((value) => value / sum);
}

/** Returns the final hidden states, after the last norm. */
function hiddenStates(weights: Weights, inputs: readonly Vector[]): Vector[] {
	const { layers, heads, width } = latentShape;
	const size = width / heads;
	let states = [...inputs];
	for (let layer = 0; layer < layers; layer++) {
		const block = `blocks.${layer}`;
		const qkv = states.map((x) => weights.times(weights.norm(x, `${block}.attention.norm`), `${block}.attention.qkv`));
		const part = (of: Vector, which: number, head: number) =>
			of.slice(which * width + head * size, which * width + (head + 1) * size);
		states = states.map((x, t) => {
			const read = Array.from({ length: heads }, (_, head) => {
				const query = part(qkv[t] as Vector, 0, head);
				const seen = qkv.slice(0, t + 1);
				const shares = softmax(seen.map((other) => dot(query, part(other, 1, head)) / Math.sqrt(size)));
				return seen.map((other, i) => part(other, 2, head).map((value) => value * (shares[i] as number))).reduce(plus);
			}).flat();
			const attended = plus(x, weights.times(read, `${block}.attention.output`));
			const up = weights.times(weights.norm(attended, `${block}.feed_forward.norm`), `${block}.feed_forward.up`);
			const active = up.map((value) => value / (1 + Math.exp(-value)));
			return plus(attended, weights.times(active, `${block}.feed_forward.down`));
		});
	}
	return states.map((x) => weights.norm(x, 'norm'));
}

/** Returns the inputs at all positions, without position embeddings. */
function inputsOf(weights: Weights, { tokens }: Sequence, thoughts: number): Vector[] {
	const first = tokens.indexOf(marks[0]) + 1;
	const inputs: Vector[] = [];
	for (const [t, token] of tokens.entries()) {
		const isThought = t >= first && t < first + thoughts;
		const before = isThought ? hiddenStates(weights, placed(weights, inputs)) : [];
		inputs.push(isThought ? (before.at(-1) as Vector) : weights.row('embedding.tokens', token));
	}
	return inputs;
}

const placed = (weights: Weights, inputs: readonly Vector[]) =>
	inputs.map((input, t) => plus(input, weights.row('embedding.positions', t)));

/** Returns the log-probability of each completion token. */
export function referenceLogprobs(flat: Vector, row: Sequence, thoughts: number): number[] {
	const weights = new Weights(flat);
	const { tokens, promptLength } = row;
	const states = hiddenStates(weights, placed(weights, inputsOf(weights, row, thoughts)));
	return tokens.slice(promptLength).map((token, t) => {
		const logits = weights.times(states[promptLength - 1 + t] as Vector, 'head');
		return Math.log(softmax(logits)[token] as number);
	});
}

/** Returns the log-probabilities that the output head assigns to each thought: [thoughts][vocabulary]. */
export function referenceReadings(flat: Vector, row: Sequence, thoughts: number): number[][] {
	const weights = new Weights(flat);
	const first = row.tokens.indexOf(marks[0]) + 1;
	return inputsOf(weights, row, thoughts)
		.slice(first, first + thoughts)
		.map((thought) => softmax(weights.times(thought, 'head')).map(Math.log));
}
