/**
 * Checks that the demo learns with every seed, but not with shuffled advantages. Each run takes about five minutes on 2
 * cores.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { node, root } from '../scripts/paths.ts';

interface Accuracy {
	readonly accuracy: number;
	readonly low: number;
	readonly high: number;
}

interface Summary {
	readonly before: Accuracy;
	readonly after: Accuracy;
	readonly trainingSeconds: number;
	readonly stepSeconds: number;
	readonly run: string;
}

const folder = mkdtempSync(join(tmpdir(), 'rl-acceptance-'));

/** Runs `npm run demo -- --headless ...` and parses its last line. */
async function demo(...args: string[]): Promise<Summary> {
	const script = join(root, 'test/scripts/demo.ts');
	const child = spawn(node, [script, join(folder, args.join('')), '--headless', ...args], {
		stdio: ['ignore', 'pipe', 'inherit'],
	});
	let output = '';
	child.stdout.setEncoding('utf8').on('data', (text: string) => {
		output += text;
	});
	const code = await new Promise((resolve) => child.once('close', resolve));
	assert.equal(code, 0, output);
	const line = output.trim().split('\n').at(-1) ?? '';
	console.error(`${args.join(' ')}: ${line}`);
	return JSON.parse(line);
}

describe('the demo', () => {
	after(() => rmSync(folder, { recursive: true, force: true }));
	let first: Summary | undefined;

	for (const seed of [1, 2, 3]) {
		it(`gains 0.30 held-out accuracy within five minutes of GRPO with seed ${seed}`, async () => {
			const summary = await demo('--seed', String(seed));
			first ??= summary;
			const { before, after, trainingSeconds } = summary;
			for (const { accuracy, low, high } of [before, after]) assert.ok(low <= accuracy && accuracy <= high);
			assert.ok(before.accuracy <= 0.4, `before: ${before.accuracy}`);
			assert.ok(after.accuracy - before.accuracy >= 0.3, `${before.accuracy} -> ${after.accuracy}`);
			assert.ok(trainingSeconds <= 300, `${trainingSeconds} s of GRPO`);
		});
	}

	it('does not learn from the same checkpoint when advantages are permuted', async () => {
		const { before, after } = await demo('--seed', '1', '--control', 'shuffle');
		assert.deepEqual(before, first?.before);
		assert.ok(after.accuracy - before.accuracy < 0.05, `${before.accuracy} -> ${after.accuracy}`);
	});
});
