import '../../vscodeHook.ts';
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { picks, Uri } from '../../vscodeStandIn.ts';

const { askSplit } = await import('../../../../../src/extension/panels/dataset/datasetQuestion.ts');

test('if a folder has several splits, the user picks one; other folders and files open directly', async () => {
	const fixtures = join(import.meta.dirname, '../../../../fixtures/datasets');
	const dict = Uri.file(join(fixtures, 'dict'));
	picks.push((items) => items.at(-1));
	assert.equal((await askSplit(dict as never))?.fsPath, join(fixtures, 'dict', 'train'));
	picks.push(undefined);
	assert.equal(await askSplit(dict as never), undefined);
	for (const path of ['saved', 'parquet', 'types/stream.arrow', 'nowhere']) {
		assert.equal((await askSplit(Uri.file(join(fixtures, path)) as never))?.fsPath, join(fixtures, path));
	}
	assert.deepEqual(picks, []);
});
