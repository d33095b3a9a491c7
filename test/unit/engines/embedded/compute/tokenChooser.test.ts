import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../../src/base/random.ts';
import { TokenChooser } from '../../../../../src/engines/embedded/compute/tokenChooser.ts';

test('statistics are computed from softmax(logits / temperature)', () => {
	const random = Random.of('chooser');
	const n = 7;
	for (const temperature of [0.5, 1, 2]) {
		const chooser = new TokenChooser(n, temperature, 1);
		const logits = Float32Array.from({ length: 2 * n }, () => 4 * random.normal());
		chooser.choose(logits, n, random);
		const exps = [...logits.subarray(n)].map((x) => Math.exp(x / temperature));
		const sum = exps.reduce((a, b) => a + b, 0);
		const p = exps.map((x) => x / sum);
		const divergence = p.reduce((all, one) => all + Math.log(1 / n / one) / n, 0);
		const entropy = p.reduce((all, one) => all - one * Math.log(one), 0);
		assert.ok(Math.abs(chooser.selfCertainty - divergence) < 1e-12);
		assert.ok(Math.abs(chooser.entropy - entropy) < 1e-12);
		assert.ok(Math.abs(chooser.logprob - Math.log(p[chooser.token] as number)) < 1e-12);
	}
});

test('a uniform distribution has no self-certainty, and unlikely tokens do not make it infinite', () => {
	const chooser = new TokenChooser(4, 1, 1);
	chooser.choose(new Float32Array(4), 0, Random.of('uniform'));
	assert.ok(Math.abs(chooser.selfCertainty) < 1e-12);
	chooser.choose(Float32Array.of(0, -4000, -4000, -4000), 0, Random.of('sure'));
	assert.ok(Math.abs(chooser.selfCertainty - (3000 - Math.log(4))) < 1e-9);
});
