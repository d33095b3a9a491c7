import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { outcomeWords, writeDebugLaunch } from '../../../src/rewards/debugLaunch.ts';
import { node, root } from '../../scripts/paths.ts';

const host = join(root, 'src/rewards/host/main.ts');

describe('debugging a TypeScript reward', () => {
	let folder = '';
	before(async () => {
		folder = await mkdtemp(join(tmpdir(), 'debug-launch-'));
	});
	after(() => rm(folder, { recursive: true, force: true }));

	/** Runs the host like the debugger does. */
	async function debugged(source: string, reward: string, completion: string) {
		const file = join(folder, `${reward}.reward.ts`);
		await writeFile(file, source);
		const row = { prompt: '1+2=', completion, answer: '3', row: { answer: '3' }, truncated: false };
		const context = { tags: { think: null, answer: null }, task: null, folder };
		const launch = await writeDebugLaunch({ file, reward, row, context });
		try {
			await promisify(execFile)(node, ['--disable-warning=ExperimentalWarning', host, ...launch.args]);
			const outcome = await launch.outcome();
			assert.ok(outcome);
			return outcome;
		} finally {
			await launch.remove();
		}
	}

	test('calls it once with the selected row', async () => {
		const seen = join(folder, 'seen.txt');
		const source = `import { appendFileSync } from 'node:fs';
export default function once({ completion }: { completion: string }): number {
	appendFileSync(${JSON.stringify(seen)}, completion + '\\n');
	return completion.length;
}
`;
		const outcome = await debugged(source, 'once', 'the third');
		assert.equal(await readFile(seen, 'utf8'), 'the third\n');
		assert.equal(outcomeWords(outcome, 'row 3', 9), 'row 3: 9');
	});

	test('reports exceptions', async () => {
		const source = `export default function faulty(): number { throw new Error('no such column'); }\n`;
		assert.match(outcomeWords(await debugged(source, 'faulty', '3'), 'row 1'), /^row 1: .*no such column/);
	});
});

test('a value that differs from the batch is reported with possible causes', () => {
	const outcome = { reply: { values: [1], errors: [], logs: [], durationMs: 1 } } as never;
	assert.equal(outcomeWords(outcome, 'row 1'), 'row 1: 1');
	assert.match(outcomeWords(outcome, 'row 1', 0.25), /^row 1: 1 when scored alone, but was 0\.25 in its batch\. /);
	assert.match(outcomeWords(outcome, 'row 1', null), /but was null \(the reward does not apply\) in its batch\. /);
});
