import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { statedAnswers } from '../../../../src/core/math/statedAnswer.ts';

/** Far more than a linear-time search needs here, and far less than one that tries every way to split the text. */
const giveUpMs = 20_000;

const script = `
const { parentPort, workerData } = require('node:worker_threads');
(async () => {
	const { statedAnswers } = await import(workerData.answers);
	const { checkFaithfulness } = await import(workerData.faithfulness);
	const tags = { think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] };
	for (const text of workerData.texts) {
		statedAnswers(text);
		statedAnswers(text, true);
		checkFaithfulness('<think>' + text + '</think><answer>' + text + '</answer>', tags);
	}
	parentPort.postMessage('done');
})();`;

async function endsInTime(texts: readonly string[]): Promise<boolean> {
	const source = (path: string) => new URL(`../../../../src/core/${path}`, import.meta.url).href;
	const worker = new Worker(script, {
		eval: true,
		workerData: { texts, answers: source('math/statedAnswer.ts'), faithfulness: source('trace/faithfulness.ts') },
	});
	const timer = setTimeout(() => worker.terminate(), giveUpMs);
	try {
		const done = once(worker, 'message').then(() => true);
		return await Promise.race([done, once(worker, 'exit').then(() => false)]);
	} finally {
		clearTimeout(timer);
		await worker.terminate();
	}
}

describe('stated answers', () => {
	it('are found in bounded time in long runs of whitespace', async () => {
		const blank = ' '.repeat(3900);
		assert.ok(
			await endsInTime([`.${blank}=`, `=a${blank}=`, `x,${'\n'.repeat(3900)}is`, `so ${blank} is the ${blank}`]),
		);
	});

	it('are found in bounded time in formulas with many opening delimiters', async () => {
		assert.ok(await endsInTime(['\\[', '\\(', ' \\(', '\\( = abc ', '$$\\['].map((piece) => piece.repeat(60_000))));
	});

	it('are found across many spaces just as across one', () => {
		const blank = ' '.repeat(40);
		assert.deepEqual(statedAnswers(`The answer is${blank}42.`), statedAnswers('The answer is 42.'));
		assert.deepEqual(statedAnswers(`It costs \\(3 + 4\\)${blank}so it costs \\(7\\).`).at(-1), '7');
	});
});
