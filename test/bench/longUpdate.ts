import { createLearner } from '../../src/engines/embedded/createLearner.ts';
import type { ModelShape } from '../../src/engines/shared/modelShape.ts';

/** Run by longContext.bench.ts with a shape as its argument. */

export interface LongUpdate {
	readonly seconds: number;
	/** Resident memory in MB with a model, before its first gradient, and the maximum afterwards. */
	readonly before: number;
	readonly peak: number;
}

const shape = JSON.parse(process.argv[2] ?? '') as ModelShape;
const learner = await createLearner({ shape, device: 'cpu', seed: 1, workers: 1, sampleRows: 16, trainRows: 8 });
const before = process.memoryUsage.rss() / 1e6;
const promptLength = 16;
const tokens = Array.from({ length: shape.context }, (_, i) => 3 + ((7 * i) % 100));
const weights = new Float32Array(shape.context - promptLength).fill(1 / (shape.context - promptLength));
const start = performance.now();
await learner.updateSft([{ tokens, promptLength, weights }], {
	...{ learningRate: 1e-4, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1, maxGradNorm: 1 },
});
const seconds = (performance.now() - start) / 1000;
// maxRSS is in kibibytes on all platforms.
const peak = (process.resourceUsage().maxRSS * 1024) / 1e6;
await learner.dispose();
process.send?.({ seconds, before, peak } satisfies LongUpdate, () => process.exit(0));
