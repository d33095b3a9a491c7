import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { splitGolden, splitGoldenFile } from '../../../support/splitGolden.ts';

it('splits and orders match the golden file for the trainer (node test/scripts/writeSplitGolden.ts)', () => {
	assert.equal(readFileSync(splitGoldenFile, 'utf8'), splitGolden());
});
