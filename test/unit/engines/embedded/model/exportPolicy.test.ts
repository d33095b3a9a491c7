import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Session, Tensors } from '../../../../../src/engines/embedded/compute/runtime.ts';
import { createLearner } from '../../../../../src/engines/embedded/createLearner.ts';
import { exportPolicyOnnx } from '../../../../../src/engines/embedded/model/exportPolicy.ts';
import { tinyShape } from '../computeHarness.ts';

const policy = await createLearner({
	shape: tinyShape,
	seed: 5,
	device: 'cpu',
	workers: 1,
	sampleRows: 8,
	trainRows: 8,
});
after(() => policy.dispose());

test('the exported file computes the same distribution as the sampler, for any batch size and length', async () => {
	const bytes = exportPolicyOnnx(tinyShape, (await policy.state()).parameters, { tokenizer: 'tokenizer.json' });
	const text = new TextDecoder('latin1').decode(bytes);
	assert.ok(text.includes('tokenizer.json'));
	// Operators specific to onnxruntime would tie the file to it.
	assert.ok(!text.includes('SimplifiedLayerNormalization') && !text.includes('com.microsoft'));
	const session = await Session.create(bytes, { provider: 'cpu', threads: 1 });
	const tensors = await Tensors.load();
	const prompts = [
		[1, 3, 4],
		[1, 5],
		[1, 3, 4, 5, 6],
	];
	const samples = await policy.sample({ prompts, seeds: ['a', 'b', 'c'], maxNewTokens: 6, temperature: 1 });
	const batches = [...samples.map((sample) => [sample]), samples];
	for (const batch of batches) {
		const length = Math.max(...batch.map((sample) => sample.tokens.length));
		const ids = new BigInt64Array(batch.length * length);
		batch.forEach((sample, row) => {
			sample.tokens.forEach((token, t) => {
				ids[row * length + t] = BigInt(token);
			});
		});
		const { logits } = await session.run({ input_ids: tensors.int64(ids, [batch.length, length]) });
		assert.deepEqual(logits?.dims, [batch.length, length, tinyShape.vocabulary]);
		const scores = logits?.data as Float32Array;
		for (const [row, { tokens, promptLength, logprobs }] of batch.entries()) {
			for (let t = promptLength; t < tokens.length; t++) {
				const offset = (row * length + t - 1) * tinyShape.vocabulary;
				const line = scores.subarray(offset, offset + tinyShape.vocabulary);
				const sum = line.reduce((n, x) => n + Math.exp(x), 0);
				const logprob = (line[tokens[t] as number] as number) - Math.log(sum);
				assert.ok(Math.abs(logprob - (logprobs[t - promptLength] as number)) < 1e-4);
			}
		}
	}
});
