/**
 * `npm run acceptance [-- NAME...]`: the checks that take long. Names are the files of test/acceptance; without one all
 * of them run, about half an hour on two cores.
 */
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { buildIfStale } from './build.ts';
import { readCounts, summary } from './counts.ts';
import { artifacts, node, root } from './paths.ts';
import { run } from './process.ts';

const suffix = '.test.ts';
const folder = join(root, 'test/acceptance');
const names = readdirSync(folder)
	.filter((name) => name.endsWith(suffix))
	.map((name) => name.slice(0, -suffix.length));
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !names.includes(name));
if (unknown.length > 0) {
	console.error(`Unknown check ${unknown.join(', ')}: the checks are ${names.join(', ')}.`);
	process.exit(2);
}

await buildIfStale();
mkdirSync(artifacts, { recursive: true });
const counts = join(artifacts, 'acceptance.json');
rmSync(counts, { force: true });
const files = (wanted.length > 0 ? wanted : names).map((name) => join(folder, `${name}${suffix}`));
// One at a time: they measure, and each takes the whole machine.
const code = await run(
	node,
	['--test', '--test-concurrency=1', '--test-reporter=./test/scripts/testReporter.ts', ...files],
	{ env: { TEST_COUNTS: counts, TEST_VERBOSE: '1' } },
);
const total = readCounts(counts) ?? { passed: 0, failed: 1, skipped: 0 };
console.log(summary(total));
process.exit(code);
