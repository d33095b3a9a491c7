import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { usedTags } from '../../../../../src/extension/panels/rollouts/usedTags.ts';
import { openRun } from '../../../../../src/runs/openRun.ts';
import { fixtureFolder } from '../../../runs/importers/foreignFixtures.ts';
import { writeFiles } from '../../../runs/importers/madeRun.ts';

async function of(outputs: readonly string[]) {
	const folder = await mkdtemp(join(tmpdir(), 'used-tags-'));
	try {
		const rows = outputs.map((output) => ({ input: 'p', output, gts: null, score: 1 }));
		await writeFiles(folder, { '3.jsonl': rows });
		return await usedTags(await openRun(folder));
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

describe('tags in another trainer’s run', () => {
	it('are those found in its completions', async () => {
		const think = ['<think>', '</think>'];
		assert.deepEqual(await of(['<think>a</think>', 'b</think> 4']), { think, answer: null });
		assert.deepEqual(await of(['<reasoning>a</reasoning><solution>4</solution>']), {
			think: ['<reasoning>', '</reasoning>'],
			answer: ['<solution>', '</solution>'],
		});
	});

	it('are null if hardly any completion has them', async () => {
		const none = { think: null, answer: null };
		assert.deepEqual(await of(['4', '#### 4', '\\boxed{4}']), none);
		assert.deepEqual(await of(['<answer>4</answer>', ...Array.from({ length: 9 }, () => '4')]), none);
		assert.deepEqual(await of(['']), none);
		assert.deepEqual(await of(['an <answer> that never ends']), none);
	});

	it('are the display tags if thinking is recorded separately', async () => {
		assert.deepEqual(await usedTags(await openRun(fixtureFolder('prime-rl'))), {
			think: ['<think>', '</think>'],
			answer: ['<answer>', '</answer>'],
		});
	});
});
