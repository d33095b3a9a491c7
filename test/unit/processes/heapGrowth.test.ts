import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

/** Creates short-lived objects, some of which survive a collection, and prints the size of the new space in MB. */
const program = (start: string) => `
import { getHeapSpaceStatistics } from 'node:v8';
import { keepYoungGenerationSmall } from ${JSON.stringify(new URL('../../../src/processes/heapGrowth.ts', import.meta.url).href)};
${start}
let kept = [];
for (let i = 0; i < 3_000_000; i++) {
	kept.push({ i, text: [i] });
	if (kept.length > 200_000) kept = [];
}
console.log(getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size / 2 ** 20);
`;

async function newSpaceMb(start: string): Promise<number> {
	const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program(start)];
	return Number((await promisify(execFile)(process.execPath, args)).stdout);
}

test('the young generation stays small', async () => {
	const [small, usual] = await Promise.all([newSpaceMb('keepYoungGenerationSmall();'), newSpaceMb('')]);
	// Loading the program has already enlarged it a little.
	assert.ok(small > 0 && small <= 16, `${small} MB`);
	assert.ok(usual >= 32, `${usual} MB without it`);
});
