import type { Exchange, PlaygroundSample, PlaygroundSide } from '../../../../src/protocol/playgroundMessages.ts';

export const sample = (more: Partial<PlaygroundSample> = {}): PlaygroundSample => ({
	...{ text: '<think>1</think><answer>2</answer>', given: 0, finish: 'end', tokens: 3, promptTokens: 4 },
	...{ detail: null, check: null },
	...more,
});

export const side = (more: Partial<PlaygroundSide> = {}): PlaygroundSide => ({
	policy: { kind: 'scripted', file: '/policy.json' },
	...{ name: 'a policy', model: 'script', tags: null, prompt: '1+1=', system: null },
	can: { logprobs: true, alternatives: 8, prefix: true, seed: true },
	...{ state: 'finished', failure: null, notes: [], seconds: 1, samples: [sample()] },
	...more,
});

export const exchange = (id: number, more: Partial<Exchange> = {}): Exchange => ({
	...{ id, branch: null, question: '1+1=', expected: '' },
	sampling: { temperature: 1, topP: 1, maxTokens: 16, seed: 0, samples: 1 },
	template: { mode: 'own' },
	sides: [side()],
	...more,
});
