import { fileURLToPath } from 'node:url';
import { parseTokenizerJson } from '../../src/core/text/parseTokenizerJson.ts';
import { createLearner } from '../../src/engines/embedded/createLearner.ts';
import { parameterSpecs } from '../../src/engines/embedded/model/parameters.ts';
import { readCheckpoint, storedParameters } from '../../src/engines/embedded/run/checkpointFolder.ts';

/**
 * A checkpoint trained by the embedded engine. The trainer is compared with it and with the values the engine computes
 * from it.
 */
export const labCheckpoint = fileURLToPath(new URL('../fixtures/trainer/lab', import.meta.url));
export const labLogprobs = new URL('../fixtures/trainer/lab.json', import.meta.url);

const texts: readonly (readonly [prompt: string, completion: string])[] = [
	['3+4=', '<think>3+4=7</think><answer>7</answer>'],
	['9+9=', '<think>9+9=18</think><answer>18</answer>'],
	['1+', '<answer></think>++=;0'],
	['', '5'],
];

export interface LabScores {
	readonly temperature: number;
	readonly rows: readonly { readonly prompt: string; readonly completion: string; readonly logprobs: number[] }[];
}

/** Returns per-token log-probabilities of completions, computed by the embedded engine. */
export async function labScores(): Promise<LabScores[]> {
	const checkpoint = await readCheckpoint(labCheckpoint);
	const { shape } = checkpoint.state;
	const tokenizer = parseTokenizerJson(checkpoint.tokenizer);
	const learner = await createLearner({
		shape,
		parameters: storedParameters(checkpoint, parameterSpecs(shape)),
		device: 'cpu',
		workers: 1,
		sampleRows: 4,
		trainRows: 4,
	});
	try {
		const sequences = texts.map(([prompt, completion]) => {
			const promptTokens = tokenizer.encodePrompt(prompt);
			return { tokens: [...promptTokens, ...tokenizer.encode(completion), 2], promptLength: promptTokens.length };
		});
		return await Promise.all(
			[1, 0.7].map(async (temperature) => {
				const scored = await learner.logprobs(sequences, 'policy', temperature);
				const rows = texts.map(([prompt, completion], i) => ({
					prompt,
					completion,
					logprobs: Array.from(scored[i] ?? []),
				}));
				return { temperature, rows };
			}),
		);
	} finally {
		await learner.dispose();
	}
}
