import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { deferred, Sequencer } from '../../../../../src/base/async.ts';
import { distributionStatistics } from '../../../../../src/core/search/distribution.ts';
import { latentPlaces, latentTags, withThoughts } from '../../../../../src/core/text/latentTags.ts';
import { resolveTemplate } from '../../../../../src/core/text/template.ts';
import { buildTokenizer } from '../../../../../src/core/text/vocabulary.ts';
import { createLearner } from '../../../../../src/engines/embedded/createLearner.ts';
import { PolicyService } from '../../../../../src/engines/embedded/run/policyService.ts';
import { type ControlParams, type ControlRequest, controlMethods } from '../../../../../src/protocol/control.ts';
import { decodeOrThrow } from '../../../../../src/protocol/decode.ts';

const tokenizer = buildTokenizer(resolveTemplate('r1'), ['0', '1', '2', '+', '=', ';']);
const shape = { vocabulary: tokenizer.size, context: 24, width: 16, heads: 2, layers: 1, feedForward: 16 };
const learner = await createLearner({ shape, seed: 3, device: 'cpu', workers: 2, sampleRows: 16, trainRows: 16 });
after(() => learner.dispose());
const turns = new Sequencer();
const service = new PolicyService(learner, tokenizer, (task) => turns.queue(task));

function asked(params: ControlParams<'policy/generate'>): ControlRequest<'policy/generate'> {
	return decodeOrThrow(controlMethods['policy/generate'].params, params, 'the request');
}

test('each prompt in a seeded request gets the same completions as in its own request', async () => {
	const together = await service.generate(
		asked({ prompts: ['1+', '2+2=', '1+'], n: [3, 1, 2], maxTokens: [12, 4, 9], seeds: [7, 8, 9] }),
	);
	assert.deepEqual(
		together.completions.map((list) => list.length),
		[3, 1, 2],
	);
	assert.deepEqual(together.promptTokens, [3, 5, 3]);
	const alone = [
		await service.generate(asked({ prompts: ['1+'], n: 3, maxTokens: 12, seed: 7 })),
		await service.generate(asked({ prompts: ['2+2='], maxTokens: 4, seed: 8 })),
		await service.generate(asked({ prompts: ['1+'], n: 2, maxTokens: 9, seed: 9 })),
	];
	const texts = (lists: typeof together.completions) => lists.map((list) => list.map(({ text }) => text));
	assert.deepEqual(
		texts(together.completions),
		alone.map(({ completions }) => texts(completions)[0]),
	);
	for (const completion of together.completions[1] ?? []) assert.ok((completion.generated as number) <= 4);
	await assert.rejects(service.generate(asked({ prompts: ['1'], seeds: [1, 2] })), /"seeds" has 2 entries/);
	await assert.rejects(service.generate(asked({ prompts: ['1'], n: [1, 2] })), /"n" has 2 entries/);
});

test('alternatives and statistics match the distribution', async () => {
	const all = tokenizer.size;
	const { completions } = await service.generate(
		asked({ prompts: ['1+1='], n: 4, maxTokens: 6, alternatives: 20, temperature: 0.7 }),
	);
	for (const { tokens } of completions[0] ?? []) {
		assert.ok(tokens?.top !== undefined);
		for (const [t, top] of tokens.top.entries()) {
			assert.equal(top.length, Math.min(20, all));
			const weights = top.map(([, logprob]) => Math.exp(logprob));
			assert.deepEqual(
				weights,
				weights.toSorted((a, b) => b - a),
			);
			const expected = distributionStatistics(weights);
			const close = (actual: number | undefined, wanted: number) =>
				assert.ok(Math.abs((actual as number) - wanted) < 1e-4, `${actual} is not ${wanted}`);
			close(tokens.entropy[t], expected.entropy);
			close(tokens.varentropy?.[t], expected.varentropy);
			close(tokens.gini?.[t], expected.gini);
			close(tokens.variance?.[t], expected.variance);
			const own = top.find(([symbol]) => symbol === tokens.text[t]);
			close(own?.[1], tokens.logprob[t] as number);
		}
	}
	const few = await service.generate(asked({ prompts: ['1+1='], alternatives: 2, maxTokens: 3 }));
	for (const top of few.completions[0]?.[0]?.tokens?.top ?? []) assert.equal(top.length, 2);
	const plain = await service.generate(asked({ prompts: ['1+1='], logprobs: true, maxTokens: 3 }));
	assert.equal(plain.completions[0]?.[0]?.tokens?.top, undefined);
	assert.ok((plain.completions[0]?.[0]?.tokens?.gini?.length ?? 0) > 0);
});

test('a completion reports why it ended, what ended it and its cost', async () => {
	const request = { prompts: ['1+1='], n: 64, maxTokens: 8, logprobs: true };
	const free = (await service.generate(asked(request))).completions[0] ?? [];
	for (const { finish, truncated, tokens, generated, logprob } of free) {
		assert.equal(finish, truncated ? 'length' : 'end');
		assert.equal(tokens?.text.length, generated);
		const sum = tokens?.logprob.reduce((a, b) => a + b, 0) as number;
		assert.ok(Math.abs((logprob as number) - sum) < 1e-6);
	}
	const stopped = (await service.generate(asked({ ...request, stop: [';', '=1'] }))).completions[0] ?? [];
	const ended = stopped.filter(({ finish }) => finish === 'stop');
	assert.ok(ended.length > 5);
	for (const { text, stopText, tokens, generated } of ended) {
		assert.ok(stopText === ';' || stopText === '=1');
		assert.ok(!text.includes(';') && !text.includes('=1'));
		// Before the stop text, an untrained model can produce special tokens, which have no text.
		assert.ok((generated as number) >= (tokens?.text.length as number) + stopText.length);
		assert.ok((generated as number) <= 8);
	}
	assert.ok(ended.some(({ stopText }) => stopText === ';'));
});

test('pending requests are batched if compatible, and those of disconnected clients are dropped', async () => {
	const batches: number[] = [];
	const counting = {
		...learner,
		shape: learner.shape,
		sample: (request: Parameters<typeof learner.sample>[0]) => {
			batches.push(request.prompts.length);
			return learner.sample(request);
		},
	};
	const queue = new Sequencer();
	const gate = deferred<void>();
	void queue.queue(() => gate.promise);
	const shared = new PolicyService(counting, tokenizer, (task) => queue.queue(task));
	const abort = new AbortController();
	const waiting = [
		...Array.from({ length: 5 }, (_, i) => shared.generate(asked({ prompts: ['1+'], n: 2, maxTokens: 5, seed: i }))),
		shared.generate(asked({ prompts: ['1+'], temperature: 0.5, maxTokens: 5, seed: 1 })),
		shared.generate(asked({ prompts: ['2+'], maxTokens: 7, seed: 6 })),
	];
	const left = shared.generate(asked({ prompts: ['1+'] }), abort.signal);
	abort.abort();
	gate.resolve();
	await assert.rejects(left, { reason: 'cancelled' });
	const answers = await Promise.all(waiting);
	assert.deepEqual(batches, [11, 1]);
	const again = await service.generate(asked({ prompts: ['1+'], n: 2, maxTokens: 5, seed: 3 }));
	assert.deepEqual(
		answers[3]?.completions[0]?.map(({ text }) => text),
		again.completions[0]?.map(({ text }) => text),
	);
});

test('a policy with latent thoughts inserts them between prompt and completion', async () => {
	const own = buildTokenizer({ ...resolveTemplate('r1'), latent: latentTags }, ['0', '1', '2', '+', '=']);
	const thinking = await createLearner({
		shape: { ...shape, vocabulary: own.size },
		...{ seed: 4, device: 'cpu', workers: 1, sampleRows: 16, trainRows: 16 },
	});
	try {
		const policy = new PolicyService(
			thinking,
			own,
			(task) => turns.queue(task),
			() => 2,
		);
		const thoughts = latentPlaces(own, 2);
		const prompts = ['1+1=', '1+1=<think>2+', '2'];
		const answers = await policy.generate(asked({ prompts, maxTokens: 5, seeds: [1, 2, 3] }));
		const samples = await thinking.sample({
			prompts: prompts.map((prompt) => withThoughts(own, own.encodePrompt(prompt), thoughts)),
			seeds: [1, 2, 3].map((seed) => `policy/${seed}/0/0`),
			...{ maxNewTokens: 5, temperature: 1, thoughts },
		});
		assert.deepEqual(
			answers.completions.map(([completion]) => completion?.text),
			samples.map(({ tokens, promptLength }) => own.decode(tokens.slice(promptLength))),
		);
		assert.deepEqual(answers.promptTokens, [9, 12, 6]);
		const begun = samples[1] ?? assert.fail();
		assert.equal(own.decode(begun.tokens.slice(0, begun.promptLength)), '1+1=<bot><latent><latent><eot><think>2+');
		await assert.rejects(
			policy.score(
				decodeOrThrow(controlMethods['policy/score'].params, { prompts: ['1'], completions: ['2'] }, 'the request'),
			),
			/cannot be scored/,
		);
	} finally {
		await thinking.dispose();
	}
});
